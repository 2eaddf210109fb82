"""Finds definitions and their whole text, independently of the product: Python by its own parser, others by brackets."""
import ast, re

RUST = re.compile(r'^[ \t]*(?:pub(?:\([^)]*\))?\s+)?(?:default\s+)?(?:const\s+)?(?:async\s+)?(?:unsafe\s+)?(?:extern\s+"C"\s+)?'
                  r'(fn|struct|enum|trait|union|const|static|type|macro_rules!)\s+(?:mut\s+)?(\w+)', re.M)
JS = re.compile(r'^[ \t]*(?:export\s+)?(?:default\s+)?(?:declare\s+)?(?:abstract\s+)?(?:async\s+)?'
                r'(function\*?|class|interface|enum|type|const|let|var)\s+([\w$]+)(?=[\s<({=:;])', re.M)
METHOD = re.compile(r'^[ \t]+(?:(?:public|private|protected|static|async|get|set|override)\s+)*([\w$]+)\s*(?:<[^>\n]*>)?\((?![^\n]*=>\s*\{[ \t]*$)[^\n\'"`]*\{[ \t]*$', re.M)
C = re.compile(r'^(?!return\b|else\b|typedef\b)(?:[A-Za-z_][\w \t*]*[ \t*])?(\w+)[ \t]*\((?=[^;{}]*\)\s*\{)', re.M)
C_OTHER = re.compile(r'^(?:#[ \t]*define[ \t]+(\w+)|(?:typedef[ \t]+)?(?:struct|enum|union)[ \t]+(\w+)[ \t]*\{)', re.M)
NO_METHODS = {'if', 'for', 'while', 'switch', 'catch', 'function', 'constructor', 'return', 'with', 'else', 'do'}


def language(path):
    ending = path.rsplit('.', 1)[-1]
    return {'rs': 'rust', 'py': 'python', 'js': 'js', 'ts': 'js', 'mjs': 'js', 'c': 'c', 'h': 'c'}.get(ending)


def definitions(path, text):
    """Returns (name, line, end line, text) for each definition of a file."""
    kind = language(path)
    if kind == 'python':
        return python(text)
    found = []
    if kind == 'rust':
        starts = [(m.start(), m[2], m[1] in ('const', 'static', 'type')) for m in RUST.finditer(text)
                  if m[2] not in ('fn', '_') and not (m[1] in ('const', 'static', 'type') and m[0][0] in ' \t')]
    elif kind == 'js':
        starts = [(m.start(), m[2], m[1] in ('const', 'let', 'var', 'type')) for m in JS.finditer(text)
                  if not (m[1] in ('const', 'let', 'var') and m[0][0] in ' \t')]  # No locals.
        starts += [(m.start(), m[1], False) for m in METHOD.finditer(text) if m[1] not in NO_METHODS]
    elif kind == 'c':
        starts = [(m.start(), m[1], False) for m in C.finditer(text)]
        starts += [(m.start(), m[1] or m[2], 'define' in m[0]) for m in C_OTHER.finditer(text)]
    else:
        return []
    code = blank(text, kind)
    for start, name, is_value in sorted(starts):
        first = start + len(text[start:]) - len(text[start:].lstrip())
        if not code[first:first + 1].strip():  # In a comment or a string.
            continue
        end = end_of(code, first, is_value, kind)
        found.append((name, text.count('\n', 0, first) + 1, text.count('\n', 0, end - 1) + 1, text[first:end]))
    return found


def python(text):
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return []
    lines, found = text.split('\n'), []
    for node in ast.walk(tree):
        names = []
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names = [node.name]
        elif node in tree.body and isinstance(node, ast.Assign):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
        for name in names:
            found.append((name, node.lineno, node.end_lineno, '\n'.join(lines[node.lineno - 1:node.end_lineno])))
    return sorted(found, key=lambda item: item[1])


STRINGS = {
    'rust': r'//[^\n]*|/\*.*?\*/|b?r(#+)".*?"\1|b?r"[^"]*"|b?"(?:\\.|[^"\\])*"|b?\'(?:\\(?:u\{\w+\}|x\w\w|.)|[^\'\\\n])\'',
    'js': r'//[^\n]*|/\*.*?\*/|`(?:\\.|[^`\\])*`|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
          r'|(?<=[=(,:!&|?;{}])[ ]*/(?![/*])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n\[])+/[a-z]*',
    'c': r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\\n])+\'',
}


def blank(text, kind):
    """Replaces strings and comments, which may hold brackets: strings by `_`, comments by spaces."""
    def same_length(match):
        fill = ' ' if match[0].startswith(('//', '/*')) else '_'
        return ''.join(c if c == '\n' else fill for c in match[0])
    return re.sub(STRINGS[kind], same_length, text, flags=re.S)


def end_of(code, start, is_value, kind):
    """Returns the end of a definition: its closing brace, its semicolon, or for a value the end of its last line."""
    if kind == 'c' and is_value:
        match = re.compile(r'(?:[^\n]*\\\n)*[^\n]*').match(code, start)
        return match.end()
    depth, at, angle = 0, start, 0
    while at < len(code):
        c = code[at]
        if c in '([{':
            depth += 1
        elif c in ')]}':
            depth -= 1
            if depth < 0:
                return at
            if kind == 'c' and c == '}' and code[at - 1] == '\n':  # `#if` may hold braces without partners.
                return at + 1
            if c == '}' and depth == 0 and not is_value and not is_type_of_result(code, start, at):
                return at + 1
        elif c == ';' and depth == 0:
            return at + 1
        elif c == '\n' and depth == 0 and is_value and kind == 'js':
            before = code[start:at].rstrip()
            after = code[at:].lstrip()[:2]
            if not re.search(r'(=|=>|,|\||&|\+|\?|:|\()$', before) and not re.match(r'[.?:+|&=]', after):
                return at
        at += 1
    return len(code)


def is_type_of_result(code, start, at):
    """Whether a brace closes a type such as in `f(): { a: b } {`."""
    return code[at + 1:].lstrip(' ').startswith(('{', '|', '&', '>', '[]', ' {')) or \
        bool(re.search(r':\s*$', code[start:code.rfind('{', start, at)])) and code[at + 1:].lstrip().startswith('{')


def plain(text):
    """A text without white space."""
    return re.sub(r'\s+', '', text)


def whole(path, text):
    """Definitions, with the overloads of a function and those of a type joined if nothing is between them."""
    joined = []
    lines = text.split('\n')
    for name, line, end, body in definitions(path, text):
        last = joined[-1] if joined else None
        between = '\n'.join(lines[last[2]:line - 1]) if last else ''
        if last and last[0] == name and language(path) == 'js' and last[3].endswith(';') \
                and not blank(between, 'js').strip():
            joined[-1] = (name, last[1], end, last[3] + '\n' + body)
        else:
            joined.append((name, line, end, body))
    return joined
