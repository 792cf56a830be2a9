/** Finds phrases that are not plain technical English, and wide lines of comments. */

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
  return [...text.matchAll(/\b(?:test|keeping|sharing|it|describe)\(\s*(['"`])((?:\\.|(?!\1).)*)\1/g)].map((
    [, , name],
  ) => name)
    .join(
      '\n',
    )
}
