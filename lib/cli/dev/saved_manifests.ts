/** Reads manifests again when they are saved. */
import type { Clock } from '../../async/clock.ts'
import { messageOf } from '../../core/errors.ts'
import { absolutePath } from '../../runtime/os/user_files.ts'
import { type Manifest, manifestFile, readManifests } from '../manifests.ts'
import { repeat, SavedFiles, stampsOf } from './saved_files.ts'

/**
 * Watches the manifests, as `--apply` takes them, until the signal is aborted, and calls `onSaved` with those of each
 * save that can be read. Leaves out standard input, which can be read only once.
 */
export async function watchManifests(
  { apply, clock, onSaved, onProblem }: {
    readonly apply: readonly string[]
    readonly clock: Clock
    readonly onSaved: (manifests: readonly Manifest[]) => void
    readonly onProblem: (message: string) => void
  },
  signal: AbortSignal,
): Promise<void> {
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
