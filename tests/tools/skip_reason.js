/** Finds the reason of a skip in a test's source: Bun and Deno do not report it. Plain JavaScript, for tests/run.js. */

/**
 * Returns the text of the reason if it can be found, else the expression in the source.
 *
 * @param {{ name: string, line: number }} test
 * @param {string} source The text of the test's file.
 * @param {readonly string[]} others The texts of files that may contain its cases.
 * @returns {string | undefined}
 */
export function skipReason({ name, line }, source, others) {
  const near = source.split('\n').slice(Math.max(0, line - 1), line + 2).join(' ')
  const expression = /skip: (.+?) \}/.exec(near)?.[1]
  if (expression === undefined) return undefined
  // Such as `realOnly ?? false`, `each.skip?.embedded ?? false`, `missing || (each.skip?.real ?? false)`.
  const words = (expression.match(/[\w$]+(?![\w$]|\?\.|\.)/g) ?? []).filter((word) => word !== 'false')
  const title = name.split(' > ').at(-1).replace(/^\w+: /, '')
  return first(words, (word) => ofCase(title, word, [source, ...others])) ??
    first(words, (word) => first([source, ...others], (text) => constant(word, text))) ??
    expression
}

function first(items, reasonOf) {
  for (const item of items) {
    const reason = reasonOf(item)
    if (reason !== undefined) return reason
  }
  return undefined
}

/** Returns the value of a field of the case with this name, from a table of cases. */
function ofCase(title, field, sources) {
  for (const source of sources) {
    const start = ["'", '"', '`'].map((quote) => source.indexOf(`name: ${quote}${title}${quote}`)).find((at) => at >= 0)
    if (start === undefined) continue
    const end = source.indexOf(' name: ', start + 1)
    const value = new RegExp(`\\b${field}: ('[^']*'|"[^"]*"|\\w+)`).exec(source.slice(start, end < 0 ? undefined : end))
      ?.[1]
    if (value !== undefined) return unquoted(value) ?? constant(value, source) ?? value
  }
  return undefined
}

/** Returns a constant's text, also of `condition ? false : text`, or its declaration. */
function constant(name, source) {
  const value = new RegExp(`^\\s*(?:export )?const ${name.replaceAll('$', '\\$')}(?:: [^=]+)? = (.+)$`, 'm').exec(
    source,
  )?.[1]
  if (value === undefined) return undefined
  return unquoted(value.replace(/^.+ \? false : /, '')) ?? `const ${name} = ${value}`
}

function unquoted(value) {
  return /^(['"])((?:(?!\1).)*)\1$/.exec(value.trim())?.[2]
}
