/** Temporary folders for tests. */
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export async function withFolder<T>(use: (folder: string) => Promise<T> | T): Promise<T> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'kubeloop-')))
  try {
    return await use(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
