/** Reads manifests again when they are saved. */
import type { Clock } from '../../async/clock.ts'
import { messageOf } from '../../core/errors.ts'
import { absolutePath } from '../../runtime/os/user_files.ts'
import { type Manifest, manifestFile, readManifests } from '../manifests.ts'
import { repeat, SavedFiles, stampsOf } from './saved_files.ts'

interface ManifestFilesOptions {
  /** Manifests as `--apply` takes them. */
  readonly apply: readonly string[]
  readonly clock: Clock
  /** Called with the manifests of each save, if they can be read. */
  readonly onSaved: (manifests: readonly Manifest[]) => void
  readonly onProblem: (message: string) => void
}

/** Watches the files until the signal is aborted. Leaves out standard input, which can be read only once. */
export async function watchManifests(options: ManifestFilesOptions, signal: AbortSignal): Promise<void> {
  const { apply, clock, onSaved, onProblem } = options
  const byFile = Map.groupBy(
    apply.filter((given) => manifestFile(given)),
    (given) => absolutePath(manifestFile(given)!),
  )
  if (byFile.size === 0) return
  const files = new SavedFiles({ clock, scan: async () => ({ stamps: await stampsOf(byFile.keys()) }) })
  await files.begin()
  await repeat(async () => {
    const saved = await files.next(signal)
    await files.begin()
    for (const given of saved.files.flatMap((file) => byFile.get(file) ?? [])) {
      try {
        onSaved(await readManifests([given]))
      } catch (error) {
        onProblem(`${messageOf(error)}; fix it and save it again`)
      }
    }
  }, signal)
}
