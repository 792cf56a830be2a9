/** Saves the API's state in a file, to restore it at the next start. */
import { messageOf } from '../../core/errors.ts'
import type { Clock } from '../../async/clock.ts'
import { readTextIfExists, writePrivate } from '../../runtime/os/files.ts'
import { renameFile } from '../../runtime/os/user_files.ts'

/**
 * Reads the saved state; undefined if there is none. If `check` throws or the file is not JSON, renames the file and
 * reports that.
 */
export async function readState<T>(
  file: string,
  check: (value: unknown) => T,
  report: (problem: string) => void,
): Promise<T | undefined> {
  const text = await readTextIfExists(file)
  if (text === undefined) return undefined
  try {
    return check(JSON.parse(text))
  } catch (error) {
    const aside = `${file}.bad`
    await renameFile(file, aside)
    report(
      `Cannot use the state of the last run: ${messageOf(error)}; it is kept in ${aside}; this run starts without it`,
    )
    return undefined
  }
}

/** The delay from a change to its save. Changes in between are saved with it. */
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

  /** Schedules a save. */
  changed(): void {
    this.#dirty = true
    this.#cancel ??= this.#clock.after(SAVE_AFTER_MS, () => {
      this.#cancel = undefined
      this.#write()
    })
  }

  /** Saves pending changes now. */
  async close(): Promise<void> {
    this.#cancel?.()
    this.#cancel = undefined
    this.#write()
    await this.#writing
  }

  /** Writes in sequence, so that the last state is the one that remains. */
  #write(): void {
    if (!this.#dirty) return
    this.#dirty = false
    const text = JSON.stringify(this.#save())
    this.#writing = this.#writing.then(() => writePrivate(this.#file, text)).catch(this.#onError)
  }
}
