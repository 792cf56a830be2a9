/** Counts, by folder, what is to become fewer: phrases that are no plain technical English, and long lines of comments. */

/** What plain technical English says otherwise. The thing is the subject, with a standard verb: notify, report, log, return. */
export const PHRASES: readonly string[] = [
  'who may',
  'whoever',
  'nobody',
  'somebody',
  'anybody',
  'that is none',
  'is of use',
  'of use to',
  'hears of',
  'hear of',
  'heard of',
  'is told',
  'are told',
  'alike',
]

const PHRASE = new RegExp(`\\b(?:${PHRASES.join('|')})\\b`, 'gi')

/** The widest line of a comment, in characters: what the formatter allows code. */
export const WIDEST = 120

/** Returns how often phrases occur in a text. One may go on in the next line of a comment. */
export function phrasesIn(text: string): number {
  const joined = text.replace(/\s*\n\s*(?:\*(?!\/)|\/\/)?\s*/g, ' ')
  return [...joined.matchAll(PHRASE)].length
}

/** Returns the numbers of the lines that are comments and too wide, from 1. URLs and rows of tables cannot be wrapped. */
export function wideComments(text: string): number[] {
  const isWide = (line: string): boolean =>
    /^\s*(?:\/\/|\/\*|\*)/.test(line) && [...line].length > WIDEST && !/https?:\/\/|^\s*\* \|/.test(line)
  return text.split('\n').flatMap((line, at) => (isWide(line) ? [at + 1] : []))
}

/** Returns the names of the tests and suites in a text, one a line. */
export function testNames(text: string): string {
  return [...text.matchAll(/\b(?:test|it|describe)\(\s*(['"`])((?:\\.|(?!\1).)*)\1/g)].map(([, , name]) => name).join(
    '\n',
  )
}

/** Adds up what `count` finds, by the first two parts of the paths; folders without a finding are left out. */
export function byFolder(
  files: ReadonlyMap<string, string>,
  count: (text: string, path: string) => number,
): Record<string, number> {
  const found: Record<string, number> = {}
  for (const [path, text] of files) {
    const n = count(text, path)
    const folder = path.split('/').slice(0, path.startsWith('docs/') ? 1 : 2).join('/')
    if (n > 0) found[folder] = (found[folder] ?? 0) + n
  }
  return found
}

/** Returns what is more than the table allows, as `folder: found, at most allowed`. */
export function above(found: Readonly<Record<string, number>>, allowed: Readonly<Record<string, number>>): string[] {
  return Object.entries(found).filter(([folder, n]) => n > (allowed[folder] ?? 0)).map(([folder, n]) =>
    `${folder}: ${n}, at most ${allowed[folder] ?? 0}`
  )
}
