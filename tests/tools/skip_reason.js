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
  const expression = /\bskip(?:: (.+?))? \}/.exec(near)
  if (!expression) return undefined
  const title = name.split(' > ').at(-1).replace(/^\w+: /, '')
  return reasonOf(expression[1] ?? 'skip', title, [source, ...others])
}

/** The max number of constants to follow: they may name each other. */
const MAX_STEPS = 3

/** Returns the text in an expression such as `isNode ? false : 'text'`, `missing || (each.skip?.real ?? false)`. */
function reasonOf(expression, title, sources, step = 0) {
  const texts = [...expression.matchAll(/(['"])((?:(?!\1).)*)\1/g)].map(([, , text]) => text)
  // A name of a runtime is none.
  const text = texts.find((text) => text.includes(' '))
  if (text !== undefined) return text
  if (step === MAX_STEPS) return expression
  const words = (expression.match(/[\w$]+(?![\w$]|\?\.|\.)/g) ?? []).filter((word) => word !== 'false')
  return first(words, (word) => ofCase(title, word, sources, step)) ??
    first(words, (word) => first(sources, (source) => constant(word, title, sources, source, step))) ??
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
function ofCase(title, field, sources, step) {
  for (const source of sources) {
    const start = ["'", '"', '`'].map((quote) => source.indexOf(`name: ${quote}${title}${quote}`)).find((at) => at >= 0)
    if (start === undefined) continue
    const end = source.indexOf(' name: ', start + 1)
    const value = new RegExp(`\\b${field}: ('[^']*'|"[^"]*"|\\w+)`).exec(source.slice(start, end < 0 ? undefined : end))
      ?.[1]
    if (value !== undefined) return reasonOf(value, '', sources, step + 1)
  }
  return undefined
}

/** Returns the text of a constant, or its declaration. */
function constant(name, title, sources, source, step) {
  const declared = new RegExp(
    `^\\s*(?:export )?const ${name.replaceAll('$', '\\$')}(?:: [^=]+)? = (.+(?:\\n +(?:[?:]|&&|\\|\\|) .*)*)`,
    'm',
  )
  const value = declared.exec(source)?.[1]
  if (value === undefined) return undefined
  const reason = reasonOf(value, title, sources, step + 1)
  return reason === value ? `const ${name} = ${value}` : reason
}
