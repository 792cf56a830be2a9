/** Counts results, and says at the end what failed and what was skipped. Plain JavaScript, for tests/run.js. */

const SLOW_MS = 5000

export class Summary {
  #began = Date.now()
  #passed = 0
  #failed = 0
  /** What is printed again at the end, in short. */
  #failures = []
  #skips = new Map()
  #print

  /** `print` is called with each line. */
  constructor(print) {
    this.#print = print
  }

  /** Notes a failure; returns false. */
  fail(what, why, output = '') {
    this.#failed++
    this.#failures.push(`${what}: ${why}`)
    this.#print(`✖ ${what}: ${why}${output.trim() ? `\n${indent(output.trimEnd())}` : ''}`)
    return false
  }

  pass(name, ms, output) {
    this.#passed++
    this.#print(`✔ ${name} (${seconds(ms)})${output.trim() ? `\n${indent(output.trim())}` : ''}`)
  }

  /** Counts the tests of a file. */
  addTests(runtime, file, tests) {
    for (const test of tests) {
      if (test.result === 'passed') this.#passed++
      else if (test.result === 'skipped') this.#noteSkip(runtime, file, test)
      else {
        this.#failed++
        this.#failures.push(`${runtime}: ${file} › ${test.name}`)
      }
    }
  }

  /** Prints a line for each runtime, with its slow files. */
  addResults(runtimes, results) {
    for (const runtime of runtimes) {
      const own = results.filter((each) => each.runtime === runtime)
      if (own.length === 0) {
        this.#print(`${runtime}: none of these files, as no runtime changes what they test`)
        continue
      }
      const count = (kind) => own.flatMap(({ tests }) => tests).filter(({ result }) => result === kind).length
      const failed = own.reduce((sum, each) => sum + each.failed, 0)
      const ms = own.reduce((sum, each) => sum + each.ms, 0)
      this.#print(
        `${runtime}: ${count('passed')} passed, ${failed} failed, ${
          count('skipped')
        } skipped, in ${own.length} files (${seconds(ms)})`,
      )
      for (const each of own.filter((each) => each.ms > SLOW_MS).sort((a, b) => b.ms - a.ms).slice(0, 10)) {
        this.#print(`  slow: ${each.file} ${seconds(each.ms)}`)
      }
    }
  }

  /** Fails for tests that only some runtimes reported: nothing else would show that one never reached a test. */
  compareRuntimes(results) {
    const passed = results.filter(({ failed }) => failed === 0)
    for (const file of new Set(passed.map((each) => each.file))) {
      const own = passed.filter((each) => each.file === file)
      const ran = new Set(
        own.flatMap(({ tests }) => tests.filter(({ result }) => result !== 'skipped').map(({ name }) => name)),
      )
      for (const { runtime, tests } of own) {
        const missing = [...ran].filter((name) => !tests.some((test) => test.name === name))
        if (missing.length > 0) {
          this.fail(`${runtime}: ${file}`, `it left out tests that another runtime ran: ${missing.join(', ')}`)
        }
      }
    }
  }

  /** Prints the end. Returns true if something passed and nothing failed. */
  print() {
    // Tests with the same reason are one line: an unset variable skips dozens.
    const byReason = new Map()
    for (const [key, { runtimes, reason = 'see its source' }] of this.#skips) {
      const text = `${runtimes.join(', ')}: ${reason}`
      byReason.set(text, [...(byReason.get(text) ?? []), key])
    }
    for (const [text, keys] of byReason) {
      const shown = keys.length > 6 ? [...keys.slice(0, 5), `and ${keys.length - 5} more`] : keys
      this.#print(`skipped on ${text}\n${indent(shown.join('\n'))}`)
    }
    if (this.#failures.length > 0) this.#print(`\nfailed:\n${indent(this.#failures.join('\n'))}`)
    const skipped = [...this.#skips.values()].reduce((sum, each) => sum + each.runtimes.length, 0)
    this.#print(`${skipped} skipped; ${seconds(Date.now() - this.#began)} in all`)
    this.#print(`${this.#passed} passed, ${this.#failed} failed`)
    return this.#passed > 0 && this.#failed === 0
  }

  #noteSkip(runtime, file, { name, reason }) {
    const key = `${file} › ${name}`
    // Only Node reports the reason; that of a skip elsewhere is in the source.
    const known = this.#skips.get(key) ?? { runtimes: [], reason: undefined }
    known.runtimes.push(runtime)
    known.reason ??= reason
    this.#skips.set(key, known)
  }
}

function indent(text) {
  return text.replaceAll(/^/gm, '    ')
}

function seconds(ms) {
  return `${(ms / 1000).toFixed(1)} s`
}
