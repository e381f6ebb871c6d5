// Syntax highlighting of code in answers: comments, strings, numbers and keywords of common languages.

/** Longer code is not highlighted: its elements would slow the page down while an answer grows. */
const MAX_LENGTH = 30_000;

/** The end of the code; `$` is the end of a line. */
const END = String.raw`(?![\s\S])`;
const SLASHES = String.raw`//.*|/\*[\s\S]*?(?:\*/|${END})`;
const HASH = '#.*';
const QUOTED = String.raw`"(?:\\[\s\S]|[^"\\\n])*"?|'(?:\\[\s\S]|[^'\\\n])*'?`;
const BACKQUOTED = String.raw`${'`'}(?:\\[\s\S]|[^\\${'`'}])*${'`'}?`;
const TRIPLE = String.raw`[rbfu]{0,2}(?:"""[\s\S]*?(?:"""|${END})|'''[\s\S]*?(?:'''|${END})|${QUOTED})`;
const NUMBER = String.raw`\b(?:0[xob][\da-fA-F_]+|\d[\d_]*(?:\.\d[\d_]*)?(?:[eE][+-]?\d+)?)[a-zA-Z\d]*\b`;
const C_WORDS = 'break case const continue default do else enum extern for goto if inline return sizeof static struct switch typedef union volatile while';
const C_TYPES = 'auto bool char double float int long short signed size_t unsigned void';
const JAVA_WORDS =
  'abstract assert break case catch class const continue default do else enum extends final finally for if implements import instanceof interface new null package private protected public return static super switch this throw throws true false try void while';

/** Sources of patterns, and keywords, by language. */
const LANGUAGES = {
  bash: {
    comment: String.raw`(?<![\w$])#.*`,
    string: QUOTED,
    words: 'case do done elif else esac exit export fi for function if in local read return set shift then unset until while alias cd echo source sudo',
  },
  c: { comment: SLASHES, string: QUOTED, words: `${C_WORDS} ${C_TYPES} NULL true false #include #define #if #ifdef #ifndef #else #endif` },
  cpp: {
    comment: SLASHES,
    string: QUOTED,
    words: `${C_WORDS} ${C_TYPES} catch class concept constexpr delete explicit false friend mutable namespace new noexcept nullptr operator override private protected public template this throw true try typename using virtual #include #define #if #ifdef #ifndef #else #endif`,
  },
  csharp: {
    comment: SLASHES,
    string: QUOTED,
    words: `${JAVA_WORDS} async await base bool decimal delegate double event foreach get in int is lock long namespace object out override params readonly ref sealed set string struct using var virtual where`,
  },
  css: { comment: String.raw`/\*[\s\S]*?(?:\*/|${END})`, string: QUOTED, keyword: String.raw`@[\w-]+|(?<![\w-])[\w-]+(?![\w-])(?=\s*:[^:])`, number: String.raw`#[\da-f]{3,8}\b|-?\d*\.?\d+(?:[a-z]+|%)?` },
  diff: { keyword: '^@@.*', string: String.raw`^\+.*`, comment: '^-.*' },
  go: {
    comment: SLASHES,
    string: `${BACKQUOTED}|${QUOTED}`,
    words: 'any bool break byte case chan const continue default defer else error fallthrough false float32 float64 for func go goto if import int int32 int64 interface map nil package range return rune select string struct switch true type uint var',
  },
  html: { comment: String.raw`<!--[\s\S]*?(?:-->|${END})`, string: '"[^"<>]*"', keyword: String.raw`</?[\w:-]+|/?>|<!\w+`, number: String.raw`&#?\w+;` },
  java: { comment: SLASHES, string: QUOTED, words: `${JAVA_WORDS} boolean byte char double float int long record short var` },
  javascript: {
    comment: SLASHES,
    string: `${BACKQUOTED}|${QUOTED}`,
    words: 'as async await break case catch class const continue declare default delete do else enum export extends false finally for from function get if implements import in instanceof interface keyof let new null of private public readonly return set static super switch this throw true try type typeof undefined var void while yield',
  },
  json: { keyword: String.raw`"(?:\\.|[^"\\\n])*"(?=\s*:)|\b(?:true|false|null)\b`, string: QUOTED },
  kotlin: {
    comment: SLASHES,
    string: TRIPLE,
    words: `${JAVA_WORDS} as by companion data fun in init is it lateinit object open override sealed suspend typealias val var when`,
  },
  lua: { comment: String.raw`--\[\[[\s\S]*?(?:\]\]|${END})|--.*`, string: QUOTED, words: 'and break do else elseif end false for function goto if in local nil not or repeat return then true until while' },
  php: { comment: `${SLASHES}|${HASH}`, string: QUOTED, words: `${JAVA_WORDS} array as echo fn foreach function isset match namespace trait unset use` },
  python: {
    comment: HASH,
    string: TRIPLE,
    words: 'False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda match nonlocal not or pass raise return self try while with yield',
  },
  ruby: {
    comment: HASH,
    string: QUOTED,
    words: 'alias and begin break case class def do else elsif end ensure false for if in module next nil not or puts redo require rescue retry return self super then true undef unless until when while yield',
  },
  rust: {
    comment: SLASHES,
    // An apostrophe also starts a lifetime.
    string: String.raw`b?"(?:\\[\s\S]|[^"\\])*"?|b?'(?:\\[^']*|[^'\\\n])'`,
    words: 'Self as async await bool break char const continue crate dyn else enum extern false f32 f64 fn for i32 i64 if impl in isize let loop match mod move mut pub ref return self static str struct super trait true type u8 u32 u64 unsafe use usize where while',
  },
  sql: {
    comment: String.raw`--.*|/\*[\s\S]*?(?:\*/|${END})`,
    string: QUOTED,
    words: 'add all alter and as asc avg between by case check constraint count create delete desc distinct drop else end exists foreign from full group having in index inner insert into is join key left like limit not null on or order outer primary references right select set sum table then union unique update values view when where with',
    ignoresCase: true,
  },
  swift: {
    comment: SLASHES,
    string: QUOTED,
    words: 'as async await break case catch class continue default defer do else enum extension false for func guard if import in init inout is let nil override private protocol public return self static struct super switch throw throws true try var where while',
  },
  toml: { comment: HASH, string: TRIPLE, keyword: String.raw`^[ \t]*\[.*\]|^[ \t]*[\w."-]+(?=\s*=)|\b(?:true|false)\b` },
  yaml: { comment: String.raw`(?<!\S)#.*`, string: QUOTED, keyword: String.raw`^[ \t-]*[\w."/-]+(?=:(?:\s|$))|\b(?:true|false|null)\b` },
};

/** Other names of languages. */
const ALIASES = {
  'c#': 'csharp', 'c++': 'cpp', cc: 'cpp', console: 'bash', cs: 'csharp', cxx: 'cpp', golang: 'go', h: 'c', hpp: 'cpp', htm: 'html', js: 'javascript',
  json5: 'javascript', jsonc: 'javascript', jsx: 'javascript', kt: 'kotlin', mjs: 'javascript', patch: 'diff', py: 'python', python3: 'python', rb: 'ruby',
  rs: 'rust', scss: 'css', sh: 'bash', shell: 'bash', svg: 'html', ts: 'javascript', tsx: 'javascript', typescript: 'javascript', xml: 'html',
  yml: 'yaml', zsh: 'bash',
};

/** Keywords come before strings, because the keys of JSON are both. */
const KINDS = ['comment', 'keyword', 'string', 'number'];

/** Compiled patterns, by language. */
const patterns = new Map();

/** The code in pieces: `{ text, kind }`, where `kind` is undefined for all other code. */
export function highlight(code, language) {
  const name = language.toLowerCase();
  const pattern = code.length <= MAX_LENGTH ? patternOf(ALIASES[name] ?? name) : null;
  if (!pattern) return [{ text: code }];
  const pieces = [];
  let at = 0;
  for (const found of code.matchAll(pattern)) {
    if (found.index > at) pieces.push({ text: code.slice(at, found.index) });
    pieces.push({ text: found[0], kind: KINDS.find((kind) => found.groups[kind] !== undefined) });
    at = found.index + found[0].length;
  }
  if (at < code.length) pieces.push({ text: code.slice(at) });
  return pieces;
}

function patternOf(name) {
  if (!Object.hasOwn(LANGUAGES, name)) return null;
  if (!patterns.has(name)) patterns.set(name, compile(LANGUAGES[name]));
  return patterns.get(name);
}

function compile({ comment, string, keyword, words, number = NUMBER, ignoresCase }) {
  // Directives such as `#include` start with a character that no word has.
  const anyWord = words && `(?<![\\w#])(?:${words.split(' ').join('|')})(?!\\w)`;
  const sources = { comment, string, keyword: keyword ?? anyWord, number };
  const groups = KINDS.filter((kind) => sources[kind]).map((kind) => `(?<${kind}>${sources[kind]})`);
  return new RegExp(groups.join('|'), ignoresCase ? 'gim' : 'gm');
}
