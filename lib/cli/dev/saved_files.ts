/**
 * Notices when files are saved, in every way that editors save them.
 *
 * Editors write in place, rename a new file over the old one, delete and create it, or truncate and then write it.
 * Files are polled by their names: a watcher of the system follows the file that had the name first, and each runtime's
 * watcher misses some of these ways.
 */
import { type Clock, sleep } from '../../async/clock.ts'
import { realFolder, stampOf, textOf, writtenBelow } from '../../runtime/os/user_files.ts'
import { importedFiles } from './import_graph.ts'

/** A stamp of each file, by its path, which changes with the file; undefined for a missing or empty file. */
export type Stamps = ReadonlyMap<string, string | undefined>

/** The files to watch: their stamps from before they were read here, and their texts. */
export interface Scan {
  readonly stamps: Stamps
  readonly texts?: ReadonlyMap<string, string | undefined>
}

export interface SavedFilesOptions {
  readonly clock: Clock
  readonly scan: () => Promise<Scan>
  /** Whether a process may still be reading the files. Default: no. */
  readonly isLoading?: () => boolean
  /** Default: the files on disk. */
  readonly disk?: Disk
}

/** The files, for tests. */
interface Disk {
  readonly poll: (files: Iterable<string>) => Promise<Stamps>
  readonly read: (file: string) => Promise<string | undefined>
}

export interface Saved {
  readonly files: readonly string[]
  /** When the save was noticed, by `clock.now()`. */
  readonly atMs: number
}

const POLL_MS = 150
/** A save is complete when the files have not changed for this long. */
const SETTLE_MS = 50
/** How long a file may be missing or empty during a save. */
const MAX_SAVE_MS = 1000

export class SavedFiles {
  readonly #options: SavedFilesOptions
  #stamps: Stamps = new Map()
  #texts: Scan['texts']

  constructor(options: SavedFilesOptions) {
    this.#options = options
  }

  /** Stores the current stamps. {@link next} notices all later saves. */
  async begin(): Promise<void> {
    const { stamps, texts } = await this.#options.scan()
    this.#stamps = stamps
    this.#texts = texts
  }

  /** Resolves when a save is complete. Rejects with the signal's reason. */
  async next(signal: AbortSignal): Promise<Saved> {
    for (;;) {
      await sleep(this.#options.clock, POLL_MS, signal)
      if (changed(this.#stamps, await this.#poll()).length === 0) continue
      const atMs = this.#options.clock.now()
      const stamps = await this.#settled(signal)
      const files = await this.#counting(changed(this.#stamps, stamps))
      if (files.length > 0) return { files, atMs }
      this.#stamps = stamps
    }
  }

  #poll(): Promise<Stamps> {
    return (this.#options.disk ?? DISK).poll(this.#stamps.keys())
  }

  async #settled(signal: AbortSignal): Promise<Stamps> {
    const { clock } = this.#options
    const end = clock.monotonic() + MAX_SAVE_MS
    for (let before = await this.#poll();;) {
      await sleep(clock, SETTLE_MS, signal)
      const now = await this.#poll()
      const isWhole = changed(this.#stamps, now).every((file) => now.get(file) !== undefined)
      if (clock.monotonic() >= end || (isWhole && changed(before, now).length === 0)) return now
      before = now
    }
  }

  /** While a process loads, only another text counts: one that writes a module at its start would restart forever. */
  async #counting(files: readonly string[]): Promise<readonly string[]> {
    const { isLoading, disk = DISK } = this.#options
    if (!isLoading?.()) return files
    const texts = await Promise.all(files.map(disk.read))
    return files.filter((file, index) => texts[index] !== this.#texts?.get(file))
  }
}

function changed(before: Stamps, after: Stamps): string[] {
  return [...after].filter(([file, stamp]) => before.get(file) !== stamp).map(([file]) => file)
}

/** `isLoading`: whether the operator's process may still be reading its files. */
export function savedFilesOf(entry: string, clock: Clock, isLoading: () => boolean): SavedFiles {
  return new SavedFiles({ clock, scan: () => scan(entry), isLoading })
}

async function scan(entry: string): Promise<Scan> {
  const stamps = new Map<string, string | undefined>()
  const texts = await importedFiles(entry, {
    async read(file) {
      // Before the text, so that a save in between is noticed.
      stamps.set(file, await stampOf(file))
      return await textOf(file)
    },
    modulesBelow: async (folder) => [...(await writtenBelow(folder, mayBeModule)).keys()],
    realFolder,
  })
  return { stamps, texts }
}

export async function stampsOf(files: Iterable<string>): Promise<Stamps> {
  return new Map(await Promise.all([...files].map(async (file) => [file, await stampOf(file)] as const)))
}

const DISK: Disk = { poll: stampsOf, read: textOf }

/** Calls `work` again and again until the signal is aborted, which ends the current call with any error. */
export async function repeat(work: () => Promise<void>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await work()
    } catch (error) {
      if (!signal.aborted) throw error
    }
  }
}

/** Returns whether a file may be a module of a package, or a folder may contain one. */
function mayBeModule(name: string, isFolder: boolean): boolean {
  return !/^\.|^node_modules$|~$/.test(name) && (isFolder || /\.([cm]?[jt]sx?|json|wasm)$/.test(name))
}
