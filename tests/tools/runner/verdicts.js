/** Decides what the end of a process says about each of its test files. Plain JavaScript, for tests/run.js. */
import { readReport } from '../junit.js'

/**
 * @param {string[]} files The test files of the process.
 * @param {object} end `code`: the exit code, the signal, or 'timeout'; `report`: the JUnit report, if there is one;
 * `begun`: the files that began, in their order; `over`: whether all files ended, if the runtime prints it; `output`.
 * @param {number} seconds The limit of one file.
 *
 * Returns a result for each file that has one, with `wrong` if it failed otherwise than by a test; the groups of files
 * to run `again`, since the process ended before them; and `doubt`, the failure of the process if none of these fails.
 */
export function verdicts(files, { code, report, begun, over, output }, seconds) {
  const isComplete = report?.trimEnd().endsWith('</testsuites>') ?? false
  const tests = isComplete ? readReport(report) : []
  const own = (file) => files.length === 1 ? tests : tests.filter((test) => test.file === file)
  const result = (file, wrong) => ({ file, tests: own(file), wrong })
  const apart = files.map((file) => [file])
  const hasFailed = tests.some((test) => test.result === 'failed')

  if (!isComplete || code === 'timeout') {
    const wrong = code !== 'timeout'
      ? `the process ended with ${code} in the middle of this file`
      : over
      ? `the process did not end after the tests: ${/^still open: .*$/m.exec(output)?.[0] ?? 'something is still open'}`
      : `it did not end within ${seconds} s${hangingIn(output)}`
    const suspect = files.length === 1 ? files[0] : over ? undefined : begun.at(-1)
    if (suspect === undefined) return { results: [], again: apart, doubt: wrong }
    const others = files.filter((file) => file !== suspect)
    return {
      results: [{ file: suspect, tests: [], wrong }],
      again: others.length > 0 ? [others] : [],
      doubt: undefined,
    }
  }

  const strays = files.length === 1 ? [] : tests.filter((test) => !files.includes(test.file))
  if (strays.length > 0) {
    // Deno reports the tests of a `describe` without their file.
    return { results: [], again: apart, doubt: `the report has tests of no file: ${strays[0].name}` }
  }
  const ran = files.length === 1 ? files : files.filter((file) => begun.includes(file) || own(file).length > 0)
  const empty = ran.filter((file) => own(file).length === 0)
  if (code !== 0 && !hasFailed && empty.length === 0) {
    const wrong = `it ended with ${code} though no test failed`
    if (files.length === 1) return { results: [result(files[0], wrong)], again: [], doubt: undefined }
    return { results: [], again: apart, doubt: `the process of these files ended with ${code} though no test failed` }
  }
  const missed = files.filter((file) => !ran.includes(file))
  return {
    results: ran.map((file) => result(file, empty.includes(file) ? 'it ended without having run a test' : undefined)),
    again: missed.length > 0 ? [missed] : [],
    doubt: undefined,
  }
}

/** Names the tests that the output of an ended file has as failed, or as begun: it has written no report. */
function hangingIn(output) {
  const names = output.replaceAll(/\x1b\[[\d;]*m/g, '').matchAll(
    /^ *(?:✖|\(fail\)) (.+?)(?: [[(][\d.]+ ?m?s[\])])?$|^(.+) \.\.\. *$(?![^]*^\2 \.\.\. )/gm,
  )
  const unique = new Set([...names].map(([, failed, begun]) => `"${failed ?? begun}"`))
  return unique.size > 0 ? `: ${[...unique].join(', ')}` : ''
}

/**
 * Returns an output without the lines of tests that passed or were skipped. What a runtime says of activity after the
 * end of a test stays: it may be why a process without a failed test ended with 1.
 */
export function withoutPassed(output) {
  return output.split('\n').filter((line) =>
    line.includes('asynchronous activity') ||
    !/^ *[✔﹣▶ℹ#] ?|^ *\((pass|skip)\) |\.\.\. (ok|ignored)\b/.test(line.replaceAll(/\x1b\[[\d;]*m/g, ''))
  ).join('\n').replaceAll(/\n{3,}/g, '\n\n').trim()
}
