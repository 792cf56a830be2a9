import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import * as yaml from 'js-yaml'
import { manifestText, parseManifest, readManifests } from '../../lib/cli/manifests.ts'
import { tries } from '../tools/fuzz.ts'
import { mutatedText } from '../tools/hostile.ts'
import { withFolder } from '../tools/folder.ts'

test('YAML documents, items of a List, and JSON are read', async () => {
  const yaml = `---
apiVersion: v1
kind: ConfigMap
metadata: { name: a }
---
# nothing
---
apiVersion: v1
kind: List
items:
- { apiVersion: v1, kind: Secret, metadata: { name: b, namespace: x } }
- { apiVersion: v1, kind: Secret, metadata: { name: c } }
`
  assert.deepEqual(parseManifest(yaml, 'f').map(({ kind, metadata }) => `${kind} ${metadata.name}`), [
    'ConfigMap a',
    'Secret b',
    'Secret c',
  ])
  assert.deepEqual(parseManifest('{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"}}', 'f'), [{
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p' },
  }])
})

test('flow style may end at any indentation in each document, and "<<" merges, as in kubectl', async () => {
  const flow = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {\n  name: a\n}\n'
  const merged =
    'apiVersion: v1\nkind: ConfigMap\nmetadata: &meta { name: c, namespace: d }\ndata: { <<: *meta, name: e }\n'
  assert.deepEqual(
    parseManifest(`${flow}---\n${flow}`, 'f'),
    [1, 2].map(() => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } })),
  )
  assert.deepEqual(parseManifest(merged, 'f'), [
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'c', namespace: 'd' },
      data: { name: 'e', namespace: 'd' },
    },
  ])
})

// As kubectl 1.36 sends them.
test('plain scalars and keys are those of YAML 1.1, also for the full parser', async () => {
  const spec = '{ mode: 0644, on: [yes, 0o644, 1_000, "0644", 12:30:45, 2001-01-01, 089] }'
  for (const anchor of ['', '&a ']) {
    const [object] = parseManifest(
      `apiVersion: v1\nkind: A\nmetadata: { name: a }\nspec: ${anchor}${spec}\n`,
      'f',
    )
    assert.deepEqual(object?.['spec'], { mode: 420, true: [true, 420, 1000, '0644', '12:30:45', '2001-01-01', 89] })
  }
})

for (
  const [text, message] of [
    ['', 'Cannot read f.yaml: there is no object in it'],
    ['a: .inf', 'Cannot read f.yaml: it is not valid YAML or JSON: json: unsupported value: +Inf'],
    ['a: b: c', /^Cannot read f\.yaml: it is not valid YAML or JSON: [^\n]+$/],
    ['{ "kind": ', /^Cannot read f\.yaml: it is not valid YAML or JSON: [^\n]+$/],
    ['- a', 'Cannot read f.yaml: it is not an object'],
    ['kind: Foo', 'Cannot read f.yaml: it has no apiVersion'],
    ['apiVersion: v1', 'Cannot read f.yaml: it has no kind'],
    ['{apiVersion: v1, kind: Foo, metadata: {}}', 'Cannot read f.yaml: it (Foo) has no metadata.name'],
    [
      '{apiVersion: v1, kind: Foo, metadata: {name: a}}\n---\n{apiVersion: v1, kind: Foo}',
      'Cannot read f.yaml: document 2 (Foo) has no metadata.name',
    ],
    ['{apiVersion: v1, kind: List, items: [{apiVersion: v1}]}', 'Cannot read f.yaml: item 1 has no kind'],
  ] as const
) {
  test(`refused: ${JSON.stringify(text)}`, () => {
    assert.throws(() => parseManifest(text, 'f.yaml'), (error: Error) => {
      if (typeof message === 'string') assert.equal(error.message, message)
      else assert.match(error.message, message)
      return true
    })
  })
}

test('what is written is read as the same data, also by a parser of YAML 1.2', () => {
  const texts = fc.oneof(fc.string(), fc.constantFrom('on', 'y', '- a', '#', 'a: b', '0o17', '1_0', '1:30', 'a\n b\n'))
  const value = fc.letrec<{ any: unknown }>((tie) => ({
    any: fc.oneof(
      { maxDepth: 4 },
      texts,
      fc.integer(),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.constantFrom(true, false, null),
      fc.array(tie('any'), { maxLength: 3 }),
      fc.dictionary(texts.filter((name) => name !== ''), tie('any'), { maxKeys: 3 }),
    ),
  })).any
  fc.assert(fc.property(value, value, (first, second) => {
    const objects = [first, second].map((data) => ({ data, left: undefined }))
    const plain = JSON.parse(JSON.stringify(objects)) as unknown
    assert.deepEqual(JSON.parse(JSON.stringify(yaml.loadAll(manifestText(objects)))), plain)
  }))
})

test('fuzz: changed documents are read as objects, or refused with the file', () => {
  const of = (name: string, data: object) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data })
  const list = { apiVersion: 'v1', kind: 'List', items: [of('c', { a: 'x: y' }), of('d', { b: '|\n---\n' })] }
  const block = 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  text: |\n    one\n    ---\n    # two\n'
  const shelf = 'apiVersion: v1\nkind: Shelf\nmetadata: { name: s }\nitems: [{ apiVersion: v1 }]\n'
  const text = `# first\n---\n---\n${block}---\n${shelf}---\n${manifestText([of('b', { quoted: '"' }), list])}`
  const texts = fc.oneof(
    mutatedText(text),
    mutatedText(JSON.stringify(list)),
    fc.constantFrom(text, JSON.stringify(list)),
  )
  let read = 0
  fc.assert(
    fc.property(texts, (text) => {
      try {
        for (const each of parseManifest(text, 'f.yaml')) {
          assert.ok([each.apiVersion, each.kind, each.metadata.name].every((part) => part && typeof part === 'string'))
        }
        read++
      } catch (error) {
        assert.match((error as Error).message, /^Cannot read f\.yaml: ./)
      }
    }),
    { numRuns: tries(150) },
  )
  assert.ok(read > 10, `${read} were read`)
})

test("a file may have a cluster's name before it", () =>
  withFolder(async (folder) => {
    const file = join(folder, 'a=b.json')
    writeFileSync(file, '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"}}')
    for (const cluster of [undefined, 'west', 'far.west-2']) {
      const [read] = await readManifests([cluster === undefined ? file : `${cluster}=${file}`])
      assert.deepEqual([read!.name, read!.cluster, read!.objects.length], [file, cluster, 1])
    }
    await assert.rejects(readManifests([`west=${file}.gone`]), {
      message: `Cannot read ${file}.gone: there is no such file`,
    })
  }))
