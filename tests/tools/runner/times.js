/** How long each file and check took the last time: for the order and the progress. Plain JavaScript, for tests/run.js. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/** What is assumed of a file that never ran, and of one that has a process of its own: it begins early. */
const UNKNOWN_MS = 1000
const UNKNOWN_ALONE_MS = 20_000

export class Times {
  #path
  #ms

  /** Reads them from a file in a cache folder, which may be missing or from another version. */
  constructor(path) {
    this.#path = path
    try {
      this.#ms = { ...JSON.parse(readFileSync(path, 'utf8')) }
    } catch {
      this.#ms = {}
    }
  }

  note(name, ms) {
    this.#ms[name] = ms
  }

  /** Returns the estimate of a job. */
  of({ runtime, files }) {
    const unknown = files.length === 1 ? UNKNOWN_ALONE_MS : UNKNOWN_MS
    return files.reduce((sum, file) => sum + (this.#ms[runtime ? `${runtime} ${file}` : file] ?? unknown), 0)
  }

  save() {
    mkdirSync(dirname(this.#path), { recursive: true })
    writeFileSync(this.#path, JSON.stringify(this.#ms))
  }
}
