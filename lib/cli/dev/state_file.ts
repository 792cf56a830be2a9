/** The API's state in a file, so that what kubectl made is there after a restart. */
import { messageOf } from '../../core/errors.ts'
import type { Clock } from '../../async/clock.ts'
import { readTextIfExists, writePrivate } from '../../runtime/os/files.ts'
import { renameFile } from '../../runtime/os/user_files.ts'

/** The state that was left; undefined when there is none. One that cannot be read is put aside, and said. */
export async function readState<T>(
  file: string,
  check: (value: unknown) => T,
  say: (problem: string) => void,
): Promise<T | undefined> {
  const text = await readTextIfExists(file)
  if (text === undefined) return undefined
  try {
    return check(JSON.parse(text))
  } catch (error) {
    const aside = `${file}.bad`
    await renameFile(file, aside)
    say(`Cannot use the state of the last run: ${messageOf(error)}; it is kept in ${aside}, and this run begins afresh`)
    return undefined
  }
}

/** After a change, this long may pass until it is in the file; what comes in between goes with it. */
const SAVE_AFTER_MS = 300

export class StateFile {
  readonly #file: string
  readonly #clock: Clock
  readonly #save: () => unknown
  readonly #onError: (error: unknown) => void
  #cancel: (() => void) | undefined
  #dirty = false
  #writing: Promise<void> = Promise.resolve()

  constructor(file: string, options: { clock: Clock; save: () => unknown; onError: (error: unknown) => void }) {
    this.#file = file
    this.#clock = options.clock
    this.#save = options.save
    this.#onError = options.onError
  }

  /** Something changed: it will be saved. */
  changed(): void {
    this.#dirty = true
    this.#cancel ??= this.#clock.after(SAVE_AFTER_MS, () => {
      this.#cancel = undefined
      this.#write()
    })
  }

  /** Saves what is not saved yet. */
  async close(): Promise<void> {
    this.#cancel?.()
    this.#cancel = undefined
    this.#write()
    await this.#writing
  }

  /** One write after the other, so that the last state is the one that stays. */
  #write(): void {
    if (!this.#dirty) return
    this.#dirty = false
    const text = JSON.stringify(this.#save())
    this.#writing = this.#writing.then(() => writePrivate(this.#file, text)).catch(this.#onError)
  }
}
