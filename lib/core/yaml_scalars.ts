/** The plain scalars of YAML 1.1, as the Go YAML library resolves them. */

/** A malformed document, with Go's message as far as it is known. */
export class YamlError extends Error {
  override readonly name = 'YamlError'
}

const WORD_VALUES: ReadonlyMap<string, boolean | null> = new Map<string, boolean | null>([
  ...['y', 'Y', 'yes', 'Yes', 'YES', 'true', 'True', 'TRUE', 'on', 'On', 'ON'].map((word) => [word, true] as const),
  ...['n', 'N', 'no', 'No', 'NO', 'false', 'False', 'FALSE', 'off', 'Off', 'OFF'].map((word) => [word, false] as const),
  ...['', '~', 'null', 'Null', 'NULL'].map((word) => [word, null] as const),
])

const NOT_FINITE = /^(?:[+-]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/

/** YAML 1.1: `yes` is true, `0777` is octal; a time stays text. */
export function plainScalar(text: string): string | number | boolean | null {
  const word = WORD_VALUES.get(text)
  if (word !== undefined) return word
  if (!/^[-+.\d]/.test(text)) return text
  if (NOT_FINITE.test(text)) {
    const go = /nan/i.test(text) ? 'NaN' : text.startsWith('-') ? '-Inf' : '+Inf'
    throw new YamlError(`json: unsupported value: ${go}`)
  }
  const digits = text.replaceAll('_', '')
  const integer = /^([-+]?)(0x[\da-fA-F]+|0b[01]+|0o?[0-7]+|[1-9]\d*|0)$/i.exec(digits)
  if (integer) {
    const [, sign, body = ''] = integer
    const value = Number(/^0[0-7]+$/.test(body) ? `0o${body.slice(1)}` : body.toLowerCase())
    return sign === '-' ? -value + 0 : value
  }
  if (/^[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?$/.test(digits)) return Number(digits)
  return text
}
