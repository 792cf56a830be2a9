/** Reads the JUnit reports of Node, Bun and Deno. Plain JavaScript, for tests/run.js. */

/**
 * Returns the tests in a report, without suites.
 *
 * @param {string} xml
 * @returns {{ name: string, file: string | undefined, result: 'passed' | 'failed' | 'skipped', reason: string | undefined }[]}
 */
export function readReport(xml) {
  // Comments and unescaped failure texts may contain tags: drop comments, and unescape last.
  const text = xml.replaceAll(/<!--[\s\S]*?-->/g, '')
  const tests = []
  const suites = []
  for (
    const [, closing, tag, attributes, selfClosing] of text.matchAll(
      /<(\/?)(testsuites?|testcase|failure|error|skipped)\b((?:\s+[\w-]+="[^"]*"|\s+[\w-]+='[^']*')*)\s*(\/?)>/g,
    )
  ) {
    const attribute = (name) => unescape(new RegExp(`\\s${name}="([^"]*)"`).exec(attributes)?.[1] ?? '')
    if (tag === 'testsuite') {
      if (closing) suites.pop()
      else if (!selfClosing) suites.push(attribute('name'))
    } else if (tag === 'testcase' && !closing && !(suites.length === 0 && isFileSuite(attribute('name')))) {
      // A file is the outermost suite, or on Node a test if it has none. Bun's and Node's suites are nested; Deno writes "suite > test" as the name, in a suite of its own module.
      const inside = suites.slice(isFileSuite(suites[0]) ? 1 : 0)
      // Of runner/deno_test.js.
      const [, file, name] = /^(\S+\.test\.ts) > ([^]*)$/.exec(attribute('name')) ?? []
      tests.push({
        name: name ?? [...inside, attribute('name')].join(' > '),
        file: file ?? fileOf(suites[0]),
        result: 'passed',
        reason: undefined,
      })
    } else if (!closing && tests.length > 0) {
      const test = tests[tests.length - 1]
      if (tag === 'failure' || tag === 'error') test.result = 'failed'
      if (tag === 'skipped') {
        test.result = 'skipped'
        const reason = attribute('message')
        test.reason = reason === '' || reason === 'true' ? undefined : reason
      }
    }
  }
  // Deno reports a suite as a test beside its tests; it counts only if it failed without a failed test.
  return tests.filter((test) => {
    const inside = tests.filter((other) => isOfFile(other, test.file) && other.name.startsWith(`${test.name} > `))
    return inside.length === 0 || (test.result === 'failed' && inside.every(({ result }) => result !== 'failed'))
  })
}

/** Returns the file of an outermost suite. Deno reports the tests in a suite as those of a module of its own. */
function fileOf(suite) {
  return isFileSuite(suite) && !suite.startsWith('ext:') ? suite.replace(/^\.\//, '') : undefined
}

function isOfFile(test, file) {
  return test.file === file || test.file === undefined
}

/** Tests for the outermost suite, which is the file. */
function isFileSuite(name) {
  return name !== undefined && /\.(test\.)?ts$/.test(name)
}

function unescape(text) {
  return text.replaceAll(
    /&(?:#(\d+)|#x([0-9a-f]+)|(\w+));/gi,
    (_, decimal, hex, name) =>
      decimal
        ? String.fromCodePoint(Number(decimal))
        : hex
        ? String.fromCodePoint(parseInt(hex, 16))
        : { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" }[name] ?? '',
  )
}
