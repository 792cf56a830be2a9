/** Finds the files of an operator, to notice when one of them is saved. */
import type { Clock } from '../../async/clock.ts'
import { realFolder, stampOf, textOf, writtenBelow } from '../../runtime/os/user_files.ts'
import { importedFiles } from './import_graph.ts'
import { SavedFiles, type Scan } from './saved_files.ts'

/** `isLoading`: whether the operator's process may still be reading its files. */
export function savedFilesOf(entry: string, clock: Clock, isLoading: () => boolean): SavedFiles {
  return new SavedFiles({ clock, scan: () => scan(entry), poll: stampsOf, read: textOf, isLoading })
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

/** Returns the stamps of files, by their paths. */
export async function stampsOf(files: Iterable<string>): Promise<Map<string, string | undefined>> {
  return new Map(await Promise.all([...files].map(async (file) => [file, await stampOf(file)] as const)))
}

/** Returns whether a file may be a module of a package, or a folder may contain one. */
function mayBeModule(name: string, isFolder: boolean): boolean {
  return !/^\.|^node_modules$|~$/.test(name) && (isFolder || /\.([cm]?[jt]sx?|json|wasm)$/.test(name))
}
