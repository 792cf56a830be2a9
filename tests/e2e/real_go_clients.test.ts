/** Runs programs on client-go and controller-runtime with the embedded API and a real one, and compares what they print. */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { ApiServer, serve, type ServedApi } from '../../lib/apiserver/mod.ts'
import { kubeconfigText } from '../../lib/testing/envtest/envtest.ts'
import { noPlane, realPlane } from '../tools/real_plane.ts'

const SOURCES = new URL('../go/', import.meta.url).pathname
const PROGRAMS = ['client_go', 'controller_runtime'] as const

const missing = noPlane ||
  (spawnSync('go', ['version']).status !== 0 ? 'Go is not installed: its clients cannot be built' : false)

const plane = realPlane(undefined, missing !== false)
let served: ServedApi | undefined
before(async () => void (missing || (served = await serve(new ApiServer()))))
after(() => served?.close())

for (const program of PROGRAMS) {
  test(`${program} prints the same on the embedded API and on a real one`, { skip: missing }, async () => {
    const { url: server, ca, token } = served!
    const embedded = labelled(program, await runWith(program, kubeconfigText({ server, ca, token })))
    const real = labelled(program, await runWith(program, plane.envtest.kubeconfig(plane.envtest.tokenConfig)))
    assert.ok(real.length > 20)
    assert.deepEqual(embedded, real)
  })
}

function runWith(program: string, kubeconfig: string): Promise<string> {
  const file = join(plane.folder, `${program}.kubeconfig`)
  writeFileSync(file, kubeconfig)
  return new Promise((resolve, reject) => {
    const args = ['run', '-ldflags=-s -w', `./${program}`, file]
    const child = spawn('go', args, { cwd: SOURCES, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    let errors = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => output += text)
    child.stderr.setEncoding('utf8').on('data', (text: string) => errors += text)
    child.on('error', reject)
    child.on('close', (code) => {
      if (code === 0) resolve(output)
      else reject(new Error(`${program} ended with code ${code}:\n${output}\n${errors}`))
    })
  })
}

interface Line {
  readonly label: string
  readonly text: string
}

/** Splits the output into lines, each with its program, its section (`# name`) and what is before its first colon. */
function labelled(program: string, output: string): Line[] {
  let section = ''
  return output.split('\n').map((text) => {
    if (text.startsWith('# ')) section = text.slice(2)
    return { label: `${program} ${section}: ${text.split(':')[0]}`, text }
  })
}
