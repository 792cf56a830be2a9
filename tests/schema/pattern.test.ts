/** Tests the translation to RE2. Results were compiled by a real API server (tests/tools/shapes.ts). */
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { toRe2 } from '../../lib/schema/pattern.ts'

const refuse = (what: string): never => {
  throw new TypeError(what)
}

const same = [
  /a{1000}/,
  /(?:a{31}){32}/,
  /(?:a{500}|b{2}){2}/,
  /(a{1000})*b{2}/,
  /[a-c-]/,
  /[-a-c]/,
  /[+--]/,
  /[^-a]/,
  /^[a-z]+$/,
  /a{2,3}?|b*/,
  /[^\d\w-]/,
  /\bx\B/,
  /(?:a)(b)/,
  /[\]\\^-]/,
  /\x41\.\*/,
  /a{,5}/,
  /^$/,
]

for (const regex of same) {
  test(`${String(regex)} is unchanged`, () => assert.equal(toRe2(regex, refuse), regex.source))
}

const translated: readonly (readonly [RegExp, string])[] = [
  [/abc/im, '(?im)abc'],
  [/abc/gd, 'abc'],
  [/a\/b/, 'a/b'],
  [new RegExp('a/b'), 'a/b'],
  [/(?<year>\d+)/, '(?P<year>\\d+)'],
  [/[[:a]/, '[\\[:a]'],
  [/[^]/, '[\\x{0}-\\x{10FFFF}]'],
  // Bun's source has all characters beyond ASCII by their codes.
  [/\u00e9[\xe4-ö]/, 'é[ä-ö]'],
  [/é/, 'é'],
  [new RegExp('\\\\x{e4}\\\\ä'), '\\\\x{e4}\\\\ä'],
  [/\u{1F600}/u, '😀'],
  [/\ud83d\ude00/u, '😀'],
  [/\u0301\u00a0/, '\\x{301}\\x{A0}'],
  [new RegExp('\u0301[\u00a0]'), '\\x{301}[\\x{A0}]'],
  [/\cA\0[\b]/, '\\x01\\x00[\\x08]'],
  [/[\w-.]/, '[\\w\\-.]'],
  [/[\d-a-z]/, '[\\d\\-a\\-z]'],
  [/[a-c-e]/, '[a-c\\-e]'],
  [/[\B]/, '[B]'],
  [/[^]a/, '[\\x{0}-\\x{10FFFF}]a'],
  [/[\]a-\x7a]b/, '[\\]a-\\x7a]b'],
  [/[A-[]/, '[A-\\[]'],
  [/[+--\D]/, '[+-\\-\\D]'],
  [new RegExp('[a-\\p]'), '[a-p]'],
  [new RegExp('[😀-😎]', 'u'), '[😀-😎]'],
  [/\p{sc=Thai}/u, '\\p{Thai}'],
  [/[\p{Script_Extensions=Greek}]\p{General_Category=Lu}\p{Emoji}/u, '[\\p{Script_Extensions=Greek}]\\p{Lu}\\p{Emoji}'],
  [/\p{L}\P{Lu}\p{Script=Greek}/u, '\\p{L}\\P{Lu}\\p{Greek}'],
  [new RegExp('\\a\\A\\z\\Q\\pL\\u{3}'), 'aAzQpLu{3}'],
]

for (const [index, [regex, pattern]] of translated.entries()) {
  // Not named by its source, in which Bun has escapes.
  test(`expression ${index} becomes ${pattern}`, () => assert.equal(toRe2(regex, refuse), pattern))
}

const refused: readonly (readonly [RegExp, RegExp])[] = [
  [/(?=a)/, /with lookaround/],
  [/a{1,1001}/, /with a count above 1000/],
  [/a{1001}/, /with a count above 1000/],
  [/(?!a)/, /with lookaround/],
  [/(?<=a)/, /with lookaround/],
  [/(?<!a)/, /with lookaround/],
  [/(a)\1/, /backreference/],
  [/(?<a>b)\k<a>/, /backreference/],
  // deno-lint-ignore no-empty-character-class -- that is what is refused
  [/[]/, /empty class/],
  [/[a-\d]/, /a range that ends in a class/],
  [/[\s-\w]/, /a range that ends in a class/],
  [/\c1/, /unfinished \\c/],
  [/[\c]/, /unfinished \\c/],
  [new RegExp('[😀]'), /surrogate pair \(use the u flag\)/],
  [new RegExp('😀+'), /\(use the u flag\)/],
  [/\ud83d/, /surrogate/],
  [/a/v, /v flag/],
  [/a/y, /sticky/],
]

for (const [regex, reason] of refused) {
  test(`${String(regex)} is refused`, () => assert.throws(() => toRe2(regex, refuse), reason))
}
