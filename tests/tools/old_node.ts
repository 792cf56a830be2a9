/** Finds a Node that is too old for kubeloop. */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'

/** A Node older than 22.19, if this machine has one. */
export const OLD_NODE: string | undefined = (process.env['PATH'] ?? '').split(':')
  .filter((folder) => !folder.includes('node_modules'))
  .map((folder) => join(folder, 'node'))
  .find((path) => {
    if (!existsSync(path)) return false
    const version = spawnSync(path, ['-p', 'process.versions.node'], { encoding: 'utf8' }).stdout
    const [major = 0, minor = 0] = version.split('.').map(Number)
    return major < 22 || (major === 22 && minor < 19)
  })

/** Why a test that needs it is skipped. */
export const noOldNode: string | false = OLD_NODE === undefined && 'no Node before 22.19 in PATH'
