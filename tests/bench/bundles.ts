/** Builds the package, and an operator and a minimal program as minified bundles. */
import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { SERVICE_ACCOUNT } from '../../lib/config/in_cluster.ts'
import { build } from '../tools/build.ts'
import { ROOT } from '../tools/tree.ts'

/** Builds the package from lib into the folder, and bundles with it. */
export async function makeBundles(folder: string) {
  const dist = join(folder, 'dist')
  const serviceAccount = join(folder, 'serviceaccount')
  await build(dist)
  const mod = await esbuild([join(dist, 'mod.js'), '--minify'])
  const bundle = async (source: string, file: string): Promise<string> => {
    const text = await esbuild([
      join(import.meta.dirname, source),
      '--bundle',
      '--minify',
      '--format=esm',
      '--platform=node',
      '--target=es2023',
      `--alias:kubeloop=${join(dist, 'mod.js')}`,
      '--external:prom-client',
    ])
    const path = join(folder, file)
    // The path in a pod is fixed, and may not exist here.
    writeFileSync(path, text.replaceAll(SERVICE_ACCOUNT, serviceAccount))
    return path
  }
  const operator = await bundle('works/startup.ts', 'operator.mjs')
  const floor = await bundle('floors/startup.ts', 'floor.mjs')
  const kb = { mod: gzippedKb(mod), operator: gzippedKb(readFileSync(operator)), floor: gzippedKb(readFileSync(floor)) }
  return {
    /** The bundle of the operator, and of its floor. */
    operator,
    floor,
    /** The folder that both use as their service account. */
    serviceAccount,
    /** Minified and gzipped, in KB. */
    kb,
  }
}

/** Runs esbuild in this folder, so that a package built elsewhere finds zod too. */
async function esbuild(args: readonly string[]): Promise<string> {
  const env = { ...process.env, NODE_PATH: join(ROOT, 'node_modules') }
  const { stdout } = await promisify(execFile)(join(ROOT, 'node_modules/.bin/esbuild'), args, {
    env,
    maxBuffer: 2 ** 26,
  })
  return stdout
}

function gzippedKb(text: string | Buffer): number {
  return gzipSync(text, { level: 9 }).length / 1024
}
