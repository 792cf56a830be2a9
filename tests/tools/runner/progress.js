/** One line about what runs: rewritten on a terminal, else printed every 15 s. Plain JavaScript, for tests/run.js. */
import process from 'node:process'

const EVERY_MS = 15_000

export class Progress {
  #began = Date.now()
  #parts = new Map()
  #done = 0
  #doneWeight = 0
  #weight = 0
  #running = new Set()
  #isTerminal = process.stdout.isTTY === true
  #timer

  /** `parts`: weights by name, such as the milliseconds that they took the last time. */
  start(parts) {
    this.#parts = parts
    this.#weight = [...parts.values()].reduce((sum, each) => sum + each, 0)
    this.#timer = setInterval(() => this.#draw(), this.#isTerminal ? 500 : EVERY_MS)
    this.#timer.unref()
  }

  /** Notes that a part runs, until the returned function is called. */
  begin(name) {
    this.#running.add(name)
    return () => this.#running.delete(name)
  }

  done(name) {
    this.#done++
    this.#doneWeight += this.#parts.get(name) ?? 0
  }

  stop() {
    clearInterval(this.#timer)
    this.#clear()
  }

  /** Prints a line that stays. */
  print(text) {
    this.#clear()
    console.log(text)
  }

  #draw() {
    const ms = Date.now() - this.#began
    const share = this.#doneWeight / this.#weight
    const left = share > 0.02 ? `, about ${minutes(ms / share - ms)} left` : ''
    const line = `[${minutes(ms)}] ${this.#done} of ${this.#parts.size} done${left}: ${[...this.#running].join(', ')}`
    if (!this.#isTerminal) console.log(line)
    else {
      this.#clear()
      process.stdout.write(line.slice(0, (process.stdout.columns ?? 80) - 1))
    }
  }

  #clear() {
    if (this.#isTerminal) process.stdout.write('\r\x1b[K')
  }
}

function minutes(ms) {
  const seconds = Math.max(0, Math.round(ms / 1000))
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
}
