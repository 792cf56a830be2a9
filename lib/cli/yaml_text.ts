/** Writes YAML that every parser reads as the same data. */

/** A string that needs no quotes in YAML 1.1, which kubectl reads, nor in YAML 1.2. */
const PLAIN = /^(?!(?:y|n|yes|no|on|off|true|false|null)$)[A-Za-z_][\w./-]*(?: [\w./-]+)*$/i

/** Returns a YAML document in block style. Strings are quoted unless every YAML version reads them as strings. */
export function yamlText(value: unknown): string {
  return `${block(value, '')}\n`
}

function block(value: unknown, indent: string): string {
  if (Array.isArray(value) && value.length > 0) {
    return value.map((item) => `${indent}- ${block(item, `${indent}  `).trimStart()}`).join('\n')
  }
  if (isMap(value)) {
    return Object.entries(value).filter(([, each]) => each !== undefined).map(([name, each]) => {
      const key = `${indent}${scalar(name)}:`
      if (isMap(each)) return `${key}\n${block(each, `${indent}  `)}`
      return Array.isArray(each) && each.length > 0 ? `${key}\n${block(each, indent)}` : `${key} ${scalar(each)}`
    }).join('\n')
  }
  return indent + scalar(value)
}

function isMap(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value) &&
    Object.values(value).some((each) => each !== undefined)
}

/** Quotes as JSON does: JSON is YAML, except for characters that YAML refuses or reads as the end of a line. */
function scalar(value: unknown): string {
  if (typeof value === 'string' && PLAIN.test(value)) return value
  return JSON.stringify(value).replace(UNPRINTABLE, (character) => `\\u${hex(character)}`)
}

const UNPRINTABLE = /[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]/g

function hex(character: string): string {
  return character.charCodeAt(0).toString(16).padStart(4, '0')
}
