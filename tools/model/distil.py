"""Distils a static model from a teacher that reads sentences: `python distil.py TEACHER OUT.bin`.

TEACHER is a directory with the `config.json`, `tokenizer.json` and `model.safetensors` of a BERT or XLM-RoBERTa model, such as
all-MiniLM-L6-v2 or multilingual-e5-small (with `--prefix "query: "`). README.md describes the format that is written and the steps;
the tuning on pairs that the model inside the binary had as well is not a part of this. Needs requirements.txt and no network.
"""

import argparse
import collections
import json
import math
import pathlib
import re
import struct
import unicodedata

import numpy as np
from safetensors.numpy import load_file
from tokenizers import Tokenizer

GROUP = 32
LONGEST = 20
# How many tokens of the teacher go through its layers at once.
TOKENS_AT_ONCE = 8192

CLASSES = [
    ("hangul", "\uac00-\ud7a3"),
    ("cjk", "\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff"),
    ("digit", "0-9"),
    ("latin", "a-z\u00aa\u00ba\u00df-\u00f6\u00f8-\u024f"),
    ("greek", "\u0370-\u03ff"),
    ("cyrillic", "\u0400-\u04ff"),
]
RUN = re.compile("|".join(f"[{letters}]+" for _, letters in CLASSES))


def runs(text):
    """The runs of a text, as the program's tokeniser has them."""
    text = unicodedata.normalize("NFKC", text)
    text = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", text)
    return RUN.findall(text.lower())


def tokens(run, pieces):
    """The longest piece again and again; a character that none begins with is left out."""
    at = 0
    while at < len(run):
        for end in range(min(len(run), at + LONGEST), at, -1):
            if run[at:end] in pieces:
                yield pieces[run[at:end]]
                at = end
                break
        else:
            at += 1


def candidates(tokenizer, texts, most):
    """Pieces, the commonest first: words of the texts, then what the teacher's vocabulary has, then single letters and digits."""
    counted = collections.Counter(run for text in texts for run in runs(text) if 2 <= len(run) <= LONGEST)
    words = [word for word, count in counted.most_common() if count >= 4]
    vocabulary = sorted(tokenizer.get_vocab(with_added_tokens=False).items(), key=lambda item: item[1])
    # Sentence pieces begin with a bar; word pieces that go on with two signs.
    known = [piece.replace("\u2581", "").removeprefix("##").lower() for piece, _ in vocabulary]
    single = [chr(code) for code in [*range(ord("a"), ord("z") + 1), *range(ord("0"), ord("9") + 1)]]
    pieces = dict.fromkeys(single)
    for piece in [*words, *known]:
        if len(pieces) == most:
            break
        if piece and len(piece) <= LONGEST and RUN.fullmatch(piece):
            pieces[piece] = None
    return list(pieces)


class Teacher:
    """A BERT model in NumPy; inputs are short, so that is quick enough."""

    def __init__(self, directory):
        self.config = json.loads((directory / "config.json").read_text())
        if self.config["model_type"] not in ("bert", "xlm-roberta", "roberta"):
            raise SystemExit(f"{directory}: a model of the type {self.config['model_type']} cannot be read")
        weights = load_file(directory / "model.safetensors")
        start = next(name for name in weights if name.endswith("embeddings.word_embeddings.weight"))
        start = start.removesuffix("embeddings.word_embeddings.weight")
        self.weights = {name.removeprefix(start): value.astype(np.float32) for name, value in weights.items()}
        self.tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()
        self.first = 0 if self.config["model_type"] == "bert" else self.config["pad_token_id"] + 1

    def linear(self, x, name):
        return x @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]

    def norm(self, x, name):
        mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
        scaled = (x - mean) / np.sqrt(variance + self.config["layer_norm_eps"])
        return scaled * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]

    def outputs(self, ids):
        """The last layer for texts of one length."""
        count, length = ids.shape
        heads = self.config["num_attention_heads"]
        x = self.weights["embeddings.word_embeddings.weight"][ids]
        x = x + self.weights["embeddings.position_embeddings.weight"][self.first : self.first + length]
        x = self.norm(x + self.weights["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
        for number in range(self.config["num_hidden_layers"]):
            layer = f"encoder.layer.{number}"
            query, key, value = (
                self.linear(x, f"{layer}.attention.self.{name}").reshape(count, length, heads, -1).transpose(0, 2, 1, 3)
                for name in ("query", "key", "value")
            )
            scores = query @ key.transpose(0, 1, 3, 2) / math.sqrt(query.shape[-1])
            scores = np.exp(scores - scores.max(-1, keepdims=True))
            scores /= scores.sum(-1, keepdims=True)
            attended = (scores @ value).transpose(0, 2, 1, 3).reshape(count, length, -1)
            x = self.norm(x + self.linear(attended, f"{layer}.attention.output.dense"), f"{layer}.attention.output.LayerNorm")
            wide = self.linear(x, f"{layer}.intermediate.dense")
            # GELU by its approximation with tanh, which differs in the fourth place.
            wide *= 0.5 * (1 + np.tanh(0.7978845608 * (wide + 0.044715 * wide**3)))
            x = self.norm(x + self.linear(wide, f"{layer}.output.dense"), f"{layer}.output.LayerNorm")
        return x

    def vectors(self, texts):
        """The mean of all outputs, text by text."""
        encoded = [encoding.ids for encoding in self.tokenizer.encode_batch(texts)]
        by_length = collections.defaultdict(list)
        for number, ids in enumerate(encoded):
            by_length[len(ids)].append(number)
        vectors = np.zeros((len(texts), self.config["hidden_size"]), np.float32)
        done = 0
        for length, numbers in sorted(by_length.items()):
            step = max(1, TOKENS_AT_ONCE // length)
            for at in range(0, len(numbers), step):
                batch = numbers[at : at + step]
                vectors[batch] = self.outputs(np.array([encoded[number] for number in batch])).mean(1)
                done += len(batch)
                print(f"\r{done} of {len(texts)} pieces", end="", flush=True)
        print()
        return vectors


def reduced(vectors, dims, whitening):
    """Principal components; each is divided by its deviation to the power of `whitening`, so that no few of them rule."""
    centred = vectors - vectors.mean(0)
    _, deviations, axes = np.linalg.svd(centred.T @ centred / len(centred))
    deviations = np.sqrt(deviations[:dims] + 1e-12)
    return centred @ axes[:dims].T / deviations**whitening


def shares(pieces, texts):
    """The share of each piece in running text; without texts as Zipf would have it, by its place."""
    if not texts:
        counts = 1 / (np.arange(len(pieces)) + 10.0)
        return counts / counts.sum()
    numbers = {piece: number for number, piece in enumerate(pieces)}
    counts = np.full(len(pieces), 0.1)
    for text in texts:
        for run in runs(text):
            for token in tokens(run, numbers):
                counts[token] += 1
    return counts / counts.sum()


def pack(pieces, rows):
    """The bytes of the file."""
    groups = rows.reshape(len(rows), -1, GROUP)
    scales = (np.abs(groups).max(2, keepdims=True) / 7 + 1e-7).astype("<f2")
    nibbles = (np.clip(np.round(groups / scales.astype(np.float32)), -7, 7) + 8).astype(np.uint8).reshape(len(rows), -1)
    text = "\n".join(pieces).encode()
    header = struct.pack("<III", len(pieces), rows.shape[1], len(text))
    return header + text + scales.tobytes() + (nibbles[:, 0::2] | nibbles[:, 1::2] << 4).tobytes()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("teacher", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--texts", type=pathlib.Path, nargs="*", default=[], help="running text, from which words and shares come")
    parser.add_argument("--pieces", type=pathlib.Path, help="exactly these pieces, one a line, the commonest first")
    parser.add_argument("--most", type=int, default=32_000, help="pieces at most")
    parser.add_argument("--dims", type=int, default=320, help="a multiple of 32")
    parser.add_argument("--prefix", default="", help="what the teacher wants before a text")
    parser.add_argument("--whitening", type=float, default=0.3, help="0 for none, 1 for all")
    parser.add_argument("--commonness", type=float, default=5e-4, help="a in a / (a + share)")
    given = parser.parse_args()
    teacher = Teacher(given.teacher)
    dims = min(given.dims, teacher.config["hidden_size"])
    if dims % GROUP:
        raise SystemExit(f"{dims} dimensions are no multiple of {GROUP}")
    texts = [line for path in given.texts for line in path.read_text(encoding="utf-8").splitlines()]
    if given.pieces:
        pieces = list(dict.fromkeys(given.pieces.read_text(encoding="utf-8").splitlines()))
    else:
        pieces = candidates(teacher.tokenizer, texts, given.most)
    rows = reduced(teacher.vectors([given.prefix + piece for piece in pieces]), dims, given.whitening)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True) + 1e-12
    rows *= (given.commonness / (given.commonness + shares(pieces, texts)))[:, None]
    given.out.write_bytes(pack(pieces, rows.astype(np.float32)))
    print(f"{given.out}: {len(pieces)} pieces of {dims} dimensions, {given.out.stat().st_size:,} bytes")


main()
