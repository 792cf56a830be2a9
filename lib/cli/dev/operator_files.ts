/** The files of an operator on this machine: what it imports, and when one of them is saved. */
import type { Clock } from '../../async/clock.ts'
import { realFolder, stampOf, textOf, writtenBelow } from '../../runtime/os/user_files.ts'
import { importedFiles } from './import_graph.ts'
import { SavedFiles, type Scan } from './saved_files.ts'

export function savedFilesOf(entry: string, clock: Clock, isLoading: () => boolean): SavedFiles {
  return new SavedFiles({ clock, scan: () => scan(entry), look: stampsOf, read: textOf, isLoading })
}

async function scan(entry: string): Promise<Scan> {
  const stamps = new Map<string, string | undefined>()
  const texts = await importedFiles(entry, {
    async read(file) {
      // Before the text: what is saved in between is noticed then.
      stamps.set(file, await stampOf(file))
      return await textOf(file)
    },
    modulesBelow: async (folder) => [...(await writtenBelow(folder, mayBeModule)).keys()],
    realFolder,
  })
  return { stamps, texts }
}

/** The states of files, by their paths. */
export async function stampsOf(files: Iterable<string>): Promise<Map<string, string | undefined>> {
  return new Map(await Promise.all([...files].map(async (file) => [file, await stampOf(file)] as const)))
}

/** Files that may be modules of a package, and folders with such. */
function mayBeModule(name: string, isFolder: boolean): boolean {
  return !/^\.|^node_modules$|~$/.test(name) && (isFolder || /\.([cm]?[jt]sx?|json|wasm)$/.test(name))
}
