#!/usr/bin/env node
// Launches the `kubeloop` command. Plain JavaScript for Node 14.8, so that an old Node prints an error that helps.
import { existsSync } from 'node:fs'
import module from 'node:module'
import { delimiter, dirname, join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'

const OLDEST_NODE = [22, 19]

const { versions, env } = process
const isNode = !versions.bun && !versions.deno
const [major, minor] = versions.node.split('.').map(Number)

if (!isNode || major > OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor >= OLDEST_NODE[1])) {
  // The second run reads the compiled code, in the folder for temporary files: 15 ms less.
  if (isNode) module.enableCompileCache()
  const { main } = await import('./main.ts')
  await main()
} else {
  const bun = (env.npm_config_user_agent || '').startsWith('bun/') ? findBun() : undefined
  // bunx runs a script with this first line on Node, although the user called Bun.
  if (bun) await runAgain(bun)
  else {
    console.error(explain())
    process.exitCode = 1
  }
}

function findBun() {
  const folders = [...(env.npm_execpath ? [dirname(env.npm_execpath)] : []), ...(env.PATH || '').split(delimiter)]
  const names = process.platform === 'win32' ? ['bun.exe'] : ['bun', 'bun.exe']
  for (const folder of folders) {
    for (const name of names) if (folder && existsSync(join(folder, name))) return join(folder, name)
  }
  return undefined
}

async function runAgain(bun) {
  // Loaded here, as it takes 5 ms on Deno.
  const { spawn } = await import('node:child_process')
  const child = spawn(bun, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: 'inherit' })
  // Ctrl-C reaches both processes; signals to this process alone are passed on.
  process.on('SIGINT', () => {})
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.once('error', (error) => {
    console.error(`Cannot start "${bun}": ${error.message}`)
    process.exitCode = 1
  })
  child.once('exit', (code) => process.exit(code === null ? 1 : code))
}

function explain() {
  const args = process.argv.slice(2).join(' ') || '--help'
  const needs = `Cannot start kubeloop: it needs Node ≥ ${
    OLDEST_NODE.join('.')
  }, also for --runtime; this is ${versions.node}`
  // A project may depend on the package "node", whose install script puts the program there.
  const own = join('node_modules', 'node')
  if (
    existsSync(join(own, 'package.json')) && !existsSync(join(own, 'bin', 'node')) &&
    !existsSync(join(own, 'bin', 'node.exe'))
  ) {
    const why =
      'The package "node" of this project has a newer one, but its install script did not run (is npm\'s ignore-scripts on?)'
    return `${needs}. ${why}: npm rebuild node --ignore-scripts=false`
  }
  return `${needs}. Install it as a package of the project (npm install --save-dev node, then npx kubeloop ${args}), ` +
    `or with Bun: bunx --bun kubeloop ${args}`
}
