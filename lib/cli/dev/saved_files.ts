/**
 * Notices that a file of the operator was saved, however an editor does that: written in place, put over by a renamed one, removed
 * and made again, or emptied and then written. The files are looked at by their names, again and again; a watcher of the system
 * follows what had the name when it began, and each runtime's own loses some of these.
 */
import { type Clock, sleep } from '../../async/clock.ts'

/** A state of each file, by its path: differs from that of another state; undefined while there is no file, or an empty one. */
export type Stamps = ReadonlyMap<string, string | undefined>

/** The files that the next process will read: what each was before it was read here, and its text. */
export interface Scan {
  readonly stamps: Stamps
  readonly texts: ReadonlyMap<string, string | undefined>
}

export interface SavedFilesOptions {
  readonly clock: Clock
  scan(): Promise<Scan>
  look(files: Iterable<string>): Promise<Stamps>
  read(file: string): Promise<string | undefined>
  /** Whether the process may still be reading its files. */
  isLoading(): boolean
}

export interface Saved {
  readonly files: readonly string[]
  /** When it was noticed, as `clock.now()` counts. */
  readonly atMs: number
}

const LOOK_MS = 150
/** A save is over when the files stayed as they are for so long. */
const SETTLE_MS = 50
/** How long a file may be gone or empty while it is being saved. */
const MAX_SAVE_MS = 1000

export class SavedFiles {
  readonly #options: SavedFilesOptions
  #stamps: Stamps = new Map()
  #texts: Scan['texts'] = new Map()

  constructor(options: SavedFilesOptions) {
    this.#options = options
  }

  /** Notes the files as they are. Everything that is saved from here on is noticed by {@link next}. */
  async begin(): Promise<void> {
    const { stamps, texts } = await this.#options.scan()
    this.#stamps = stamps
    this.#texts = texts
  }

  /** Resolves when a save is over. Rejects with the signal's reason. */
  async next(signal: AbortSignal): Promise<Saved> {
    for (;;) {
      await sleep(this.#options.clock, LOOK_MS, signal)
      if (this.#changes(await this.#look()).length === 0) continue
      const atMs = this.#options.clock.now()
      const stamps = await this.#settled(signal)
      const files = await this.#counting(this.#changes(stamps))
      if (files.length > 0) return { files, atMs }
      this.#stamps = stamps
    }
  }

  #look(): Promise<Stamps> {
    return this.#options.look(this.#texts.keys())
  }

  #changes(now: Stamps): string[] {
    return changed(this.#stamps, now)
  }

  async #settled(signal: AbortSignal): Promise<Stamps> {
    const { clock } = this.#options
    const end = clock.monotonic() + MAX_SAVE_MS
    for (let before = await this.#look();;) {
      await sleep(clock, SETTLE_MS, signal)
      const now = await this.#look()
      const isWhole = this.#changes(now).every((file) => now.get(file) !== undefined)
      if (clock.monotonic() >= end || (isWhole && changed(before, now).length === 0)) return now
      before = now
    }
  }

  /** Of a process that is loading only another text counts: one that writes a module whenever it starts would be started for ever. */
  async #counting(files: readonly string[]): Promise<readonly string[]> {
    if (!this.#options.isLoading()) return files
    const texts = await Promise.all(files.map((file) => this.#options.read(file)))
    return files.filter((file, index) => texts[index] !== this.#texts.get(file))
  }
}

/** The files whose state is another one. */
function changed(before: Stamps, after: Stamps): string[] {
  return [...after].filter(([file, stamp]) => before.get(file) !== stamp).map(([file]) => file)
}
