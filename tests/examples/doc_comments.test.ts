/** Runs the examples of doc comments unchanged, with a kubeconfig for an API in memory. */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { after, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { ApiServer, serve } from 'kubeloop/apiserver'
import { kubeconfigText } from '../../lib/testing/envtest/envtest.ts'
import { besideExamples, docComments } from '../tools/docs.ts'
import { ROOT } from '../tools/tree.ts'

mkdirSync(join(ROOT, '.kubeloop'), { recursive: true })
const folder = mkdtempSync(join(ROOT, '.kubeloop/comments-'))
after(() => rmSync(folder, { recursive: true }))

const api = await serve(new ApiServer())
after(() => api.close())
const kubeconfig = join(folder, 'config')
writeFileSync(kubeconfig, kubeconfigText({ server: api.url, ca: api.ca, token: api.token }))

/** Replacements that shorten the examples. */
const SHORTER: readonly (readonly [string, string])[] = [['AbortSignal.timeout(60_000)', 'AbortSignal.timeout(300)'], [
  "from './1_",
  "from '../../examples/1_",
]]

/** Examples that need more than an API in memory. */
const SKIPPED: Readonly<Record<string, string>> = {
  'testing/envtest/envtest.ts 1': 'it starts etcd and kube-apiserver, which other tests cover',
}

for (const { name, text } of docComments()) {
  test(`the example of ${name} runs`, { skip: SKIPPED[name] ?? false }, async () => {
    process.env['KUBECONFIG'] = kubeconfig
    const path = join(folder, `${name.replaceAll(/\W/g, '_')}.ts`)
    writeFileSync(path, SHORTER.reduce((source, [from, to]) => source.replaceAll(from, to), besideExamples(text)))
    await assert.doesNotReject(import(pathToFileURL(path).href))
  })
}
