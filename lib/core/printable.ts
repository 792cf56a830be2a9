/** Makes text from outside the process safe for a terminal. */

/** Removes colours, and writes other control characters but line ends and tabs as `\u001b`, so that JSON stays JSON. */
export function printable(text: string): string {
  return text.replace(COLOUR, '').replace(
    CONTROL,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

const COLOUR = /\x1b\[[\d;]*m/g
/** C0, DEL and C1: they move the cursor, overwrite lines and set titles. */
const CONTROL = /(?!\r\n)[\0-\x08\x0b-\x1f\x7f-\x9f]/g
