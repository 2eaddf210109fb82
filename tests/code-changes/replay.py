"""Replays released versions of ten packages, asks the server which memories about their code are out of date, and prints how often it is
right. docs/dev/code-changes.md has the criterion and the results.

usage: replay.py PROGRAM FOLDER [PACKAGE...]     FOLDER has the archives of fetch.sh, and gets the repositories.
"""
import collections, glob, json, os, random, re, shutil, subprocess, sys, tarfile

from definitions import language, plain, whole

PROGRAM, HERE = (os.path.abspath(path) for path in sys.argv[1:3])
PACKAGES = ['itertools', 'hyper', 'clap_builder', 'click', 'werkzeug', 'rich', 'fastify', 'commander', 'rxjs', 'psutil']
IDENTIFIERS, FILES, PER_FILE, SEED = 30, 10, 3, 20261126
SKIPPED = re.compile(r'(^|/)(dist|docs?|tests?|benches|examples|node_modules|scripts|\.github)/|\.d\.ts$|\.min\.js$|\.test-d\.ts$')
FILE_TEXTS = ['We keep all of this in {path}, because callers must not know the order.', '{path} is read by the build, so keep it small.']


def environment():
    home = os.path.join(HERE, 'home')
    os.makedirs(home, exist_ok=True)
    folders = {f'XDG_{kind}_HOME': os.path.join(home, kind.lower()) for kind in ('CONFIG', 'DATA', 'STATE', 'CACHE')}
    author = {f'GIT_{who}_{what}': 'a@example.org' for who in ('AUTHOR', 'COMMITTER') for what in ('NAME', 'EMAIL')}
    return {**os.environ, 'HOME': home, 'JIKIME_EMBEDDING_PROVIDER': 'none', **folders, **author}


def git(folder, *arguments):
    subprocess.run(['git', *arguments], cwd=folder, env=environment(), check=True, stdout=subprocess.DEVNULL)


def versions_of(package):
    found = [(tuple(map(int, re.findall(r'\d+', re.search(r'-([\d.]+)\.t', path)[1]))), path)
             for path in glob.glob(f'{HERE}/*.t*gz') if os.path.basename(path).lower().startswith(package + '-')]
    return [('.'.join(map(str, version)), path) for version, path in sorted(found)]


def make_repository(package):
    """Commits each version; tags are v0, v1 and so on."""
    folder = os.path.join(HERE, 'repos', package)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    git(folder, 'init', '-q', '-b', 'main')
    with open(os.path.join(folder, '.git/info/exclude'), 'a') as exclude:
        exclude.write('.jikime/\n')
    for number, (_, path) in enumerate(versions_of(package)):
        for entry in os.listdir(folder):
            if entry not in ('.git', '.jikime'):
                whole_path = os.path.join(folder, entry)
                shutil.rmtree(whole_path) if os.path.isdir(whole_path) else os.remove(whole_path)
        with tarfile.open(path) as archive:
            for member in archive.getmembers():
                name = member.name.split('/', 1)[-1]
                if member.isfile() and not os.path.isabs(name) and '..' not in name.split('/'):
                    target = os.path.join(folder, name)
                    os.makedirs(os.path.dirname(target), exist_ok=True)
                    with open(target, 'wb') as file:
                        file.write(archive.extractfile(member).read())
        git(folder, 'add', '-A', '-f', '--', '.', ':!.jikime')
        git(folder, 'commit', '-qm', f'version {number}', '--allow-empty')
        git(folder, 'tag', '-f', f'v{number}')
    return folder


class Server:
    """The product's MCP server: the cheapest way to many states is one process and one request for each memory."""

    def __init__(self, folder):
        self.process = subprocess.Popen([PROGRAM, 'serve'], cwd=folder, env=environment(), stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.last = 0
        self.ask('initialize', {'protocolVersion': '2025-06-18', 'capabilities': {}, 'clientInfo': {'name': 'a', 'version': '1'}})
        self.send({'jsonrpc': '2.0', 'method': 'notifications/initialized'})

    def send(self, message):
        self.process.stdin.write(json.dumps(message) + '\n')
        self.process.stdin.flush()

    def ask(self, method, params):
        self.last += 1
        self.send({'jsonrpc': '2.0', 'id': self.last, 'method': method, 'params': params})
        for line in self.process.stdout:
            answer = json.loads(line)
            if answer.get('id') == self.last:
                return answer['result']
        raise RuntimeError('the server ended')

    def call(self, tool, **arguments):
        result = self.ask('tools/call', {'name': tool, 'arguments': arguments})
        if result.get('isError'):
            raise RuntimeError(str(result))
        return result['structuredContent']

    def stop(self):
        self.process.stdin.close()
        self.process.wait(20)


def tree(folder):
    """All files of the checkout, as path and bytes."""
    files = {}
    for base, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in ('.git', '.jikime')]
        for name in names:
            with open(os.path.join(base, name), 'rb') as file:
                files[os.path.relpath(os.path.join(base, name), folder)] = file.read()
    return files


def text_of(data):
    return data.decode('utf-8', 'replace')


def all_definitions(files):
    return {path: whole(path, text_of(data)) for path, data in files.items() if language(path)}


def enclosing(text, line, path):
    """The type in which a method is, found by indentation, or None."""
    lines = text.split('\n')
    own = len(lines[line - 1]) - len(lines[line - 1].lstrip())
    for above in reversed(lines[:line - 1]):
        match = re.match(r'(\s*)(?:pub(?:\([^)]*\))?\s+)?(?:export\s+)?(?:abstract\s+)?(?:unsafe\s+)?(impl|class|trait)\b(.*)', above)
        if match and len(match[1]) < own:
            head = re.sub(r'<[^<>]*>', '', re.sub(r'<[^<>]*>', '', match[3]))
            names = re.findall(r'[\w:]+', head.split(' for ')[-1])
            return names[0].split(':')[-1] if names else None
        if above.strip() and len(above) - len(above.lstrip()) == 0 and not above.startswith(('}', ')', '#', '//', '/*', ' *', 'where')):
            return None
    return None


def choose(package, files):
    """Chooses definitions over different files, and files, and writes a memory about each."""
    chance = random.Random(f'{SEED} {package}')
    found = [(path, *definition) for path, definitions in all_definitions(files).items() if not SKIPPED.search(path)
             for definition in definitions if len(definition[0]) >= 3]
    chance.shuffle(found)
    chosen, per_file, used = [], {}, set()
    rounds = [(limit, *definition) for limit in (PER_FILE, 3 * PER_FILE) for definition in found]  # Small packages have few files.
    for limit, path, name, line, end, body in rounds:
        if per_file.get(path, 0) < limit and (path, name) not in used and len(chosen) < IDENTIFIERS:
            per_file[path] = per_file.get(path, 0) + 1
            used.add((path, name))
            form = ('owner', 'backticks', 'plain')[len(chosen) % 3]
            owner = enclosing(text_of(files[path]), line, path)
            shown = f'`{name}`'
            if form == 'owner' and owner:
                shown = f'`{owner}::{name}`' if language(path) == 'rust' else f'`{owner}.{name}`'
            content = f'{name} in {path} must stay free of allocation' if form == 'plain' else f'{shown} in {path} must not wait for a lock'
            count = sum(other[0] == path and other[1] == name for other in found)
            chosen.append({'name': name, 'path': path, 'line': line, 'end': end, 'body': body, 'form': form, 'owner': owner,
                           'content': content, 'namesakes': count - 1})
    paths = sorted(path for path, data in files.items() if not SKIPPED.search(path) and len(data) < 500_000
                   and path.endswith(('.rs', '.py', '.js', '.ts', '.c', '.h', '.md', '.toml', '.json', '.rst', '.cfg')))
    chosen += [{'name': None, 'path': path, 'content': FILE_TEXTS[number % 2].format(path=path)}
               for number, path in enumerate(chance.sample(paths, min(FILES, len(paths))))]
    return chosen


def parse_state(lines):
    """Reads the product's words: `x in y is unchanged`, `... moved to line 7`, `... changed soon after this`, `y is gone`."""
    text = lines[0] if lines else ''
    moved = re.search(r' moved to line (\d+)$', text)
    if moved:
        return 'moved', int(moved[1])
    for ending, state in ((' is unchanged', 'same'), (' is gone', 'gone'), (' may have changed', 'may have changed')):
        if text.endswith(ending):
            return state, None
    return ('changed' if ' changed ' in text else 'none'), None


def truth(memory, files, old, definitions):
    """Returns (`same`, `different` or `absent`, a detail, the lines at which the same text is)."""
    path, name = memory['path'], memory['name']
    if name is None:
        if path in files:
            return ('same' if files[path] == old[path] else 'different'), None, []
        renamed = old[path] in files.values()
        return ('same' if renamed else 'absent'), ('renamed' if renamed else None), []
    body = plain(memory['body'])
    if path in files:
        here = [d for d in definitions.get(path, []) if d[0] == name]
        equal = [d for d in here if plain(d[3]) == body]
        if equal:
            exact = any(d[3] == memory['body'] for d in equal)
            return 'same', (None if exact else 'white space'), [d[1] for d in equal]
        if here:
            return 'different', here[0][3], []
    elsewhere = [(p, d) for p, ds in definitions.items() for d in ds if d[0] == name and p != path]
    equal = [p for p, d in elsewhere if plain(d[3]) == body]
    if path not in files and equal:
        return 'same', 'renamed to ' + equal[0], []
    return 'absent', ('moved to ' + equal[0] if equal else None), []


def replay(package):
    folder, versions = make_repository(package), versions_of(package)
    git(folder, 'reset', '-q', '--hard', 'v0')
    old = tree(folder)
    memories = choose(package, old)
    server = Server(folder)
    for memory in memories:
        memory['id'] = server.call('memory_save', type='learning', content=memory['content'])['id']
        memory['states'] = []
    for number in range(1, len(versions)):
        git(folder, 'reset', '-q', '--hard', f'v{number}')
        files = tree(folder)
        definitions = all_definitions(files)
        for memory in memories:
            code = server.call('memory_get', id=memory['id'])['memory'].get('code', [])
            state, line = parse_state(code)
            real, detail, lines = truth(memory, files, old, definitions)
            memory['states'].append({'version': number, 'state': state, 'line': line, 'truth': real, 'detail': detail, 'lines': lines})
    server.stop()
    return memories


def ratio(part, whole):
    return f'{100 * part / whole:.1f} %' if whole else '-'


def summary(name, memories):
    """Prints pairs of a memory and a version: right alarms, false alarms and misses."""
    counts = collections.Counter((state['state'] in ('changed', 'gone'), state['truth'] != 'same')
                                 for memory in memories for state in memory['states'])
    right, false, missed = counts[True, True], counts[True, False], counts[False, True]
    print(f'{name}: {sum(counts.values())} pairs, {right} right alarms, {false} false, {missed} missed; '
          f'precision {ratio(right, right + false)}, recall {ratio(right, right + missed)}')


replayed = {package: replay(package) for package in sys.argv[3:] or PACKAGES}
everything = [memory for memories in replayed.values() for memory in memories]
for package, memories in replayed.items():
    summary(package, [memory for memory in memories if memory['name']])
for form in ('backticks', 'owner', 'plain'):
    summary(form, [memory for memory in everything if memory.get('form') == form])
summary('all identifiers', [memory for memory in everything if memory['name']])
summary('all files', [memory for memory in everything if not memory['name']])
