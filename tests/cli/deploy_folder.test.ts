/** Tests the folders that `kubeloop manifests --out` writes. */
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { markOf, writeFolder } from '../../lib/cli/deploy/folder.ts'
import { withFolder } from '../tools/folder.ts'

const mark = markOf('a')

/** Writes files with these texts below the mark. */
function write(folder: string, texts: Readonly<Record<string, string>>, of = mark) {
  return writeFolder({
    folder,
    files: new Map(Object.entries(texts).map(([name, text]) => [name, `${of}\n${text}`])),
    mark: of,
  })
}

function textsIn(folder: string): Record<string, string> {
  return Object.fromEntries(
    readdirSync(folder, { recursive: true, withFileTypes: true }).filter((each) => each.isFile()).map((each) => {
      const file = join(each.parentPath, each.name)
      const text = readFileSync(file, 'utf8')
      return [file.slice(folder.length + 1), text.startsWith(`${mark}\n`) ? text.slice(mark.length + 1) : text]
    }),
  )
}

test('the files are written, then those that differ, and those that are gone are removed', () =>
  withFolder(async (top) => {
    const folder = join(top, 'new/base')
    assert.deepEqual(await write(folder, { 'a.yaml': '1', 'b.yaml': '1', 'c.yaml': '1' }), {
      written: ['a.yaml', 'b.yaml', 'c.yaml'],
      removed: [],
    })
    assert.deepEqual(await write(folder, { 'a.yaml': '1', 'b.yaml': '1', 'c.yaml': '1' }), {
      written: [],
      removed: [],
    })
    assert.deepEqual(await write(folder, { 'a.yaml': '1', 'd.yaml': '2' }), {
      written: ['d.yaml'],
      removed: ['b.yaml', 'c.yaml'],
    })
    assert.deepEqual(textsIn(folder), { 'a.yaml': '1', 'd.yaml': '2' })
  }))

test('files of the user stay, and one in the way is an error that changes nothing', () =>
  withFolder(async (folder) => {
    await write(folder, { 'a.yaml': '1', 'b.yaml': '1' })
    mkdirSync(join(folder, 'overlays'))
    // The mark counts in the first line of a .yaml file only.
    const own = { 'README.txt': `${mark}\n`, 'mine.yaml': `x: 1\n${mark}\n`, 'overlays/b.yaml': `${mark}\n` }
    for (const [name, text] of Object.entries(own)) writeFileSync(join(folder, name), text)
    await write(folder, { 'a.yaml': '2' })
    assert.deepEqual(textsIn(folder), { 'a.yaml': '2', ...own, 'README.txt': '', 'overlays/b.yaml': '' })

    await assert.rejects(write(folder, { 'a.yaml': '3', 'mine.yaml': '3' }), {
      message: `Cannot write ${folder}/mine.yaml: it exists, and this command did not write it; remove it, or choose ` +
        'another folder',
    })
    assert.deepEqual(textsIn(folder), { 'a.yaml': '2', ...own, 'README.txt': '', 'overlays/b.yaml': '' })
  }))

test('another operator cannot share files, and leaves those of the first', () =>
  withFolder(async (folder) => {
    await write(folder, { 'a.yaml': '1' })
    await assert.rejects(
      write(folder, { 'a.yaml': '1', 'b.yaml': '1' }, markOf('ab')),
      /a\.yaml: it was written for the operator "a"; remove it/,
    )
    assert.deepEqual(await write(folder, { 'b.yaml': '1' }, markOf('ab')), { written: ['b.yaml'], removed: [] })
    assert.deepEqual(Object.keys(textsIn(folder)).sort(), ['a.yaml', 'b.yaml'])
  }))

for (
  const [title, prepare, problem] of [
    ['a file', (path: string) => writeFileSync(path, 'x'), /Cannot write to .*: it is a file; choose a folder$/],
    [
      'below a file',
      (path: string) => writeFileSync(join(path, '..'), 'x'),
      /Cannot write to .*: a part of its path is a file; choose another folder$/,
    ],
    [
      'one with a folder that has the name of a file',
      (path: string) => mkdirSync(join(path, 'a.yaml'), { recursive: true }),
      /Cannot write to .*: it has a folder with the name of a file; choose another folder$/,
    ],
  ] as const
) {
  test(`a folder that is ${title} is refused`, () =>
    withFolder(async (top) => {
      const folder = join(top, 'x/base')
      if (title !== 'below a file') mkdirSync(join(top, 'x'))
      prepare(folder)
      await assert.rejects(write(folder, { 'a.yaml': '1', 'b.yaml': '1' }), (error: Error) => {
        assert.match(error.message, problem)
        return true
      })
      assert.ok(!existsSync(join(folder, 'b.yaml')))
    }))
}

test('a failure in the middle leaves the folder as it was', () =>
  withFolder(async (folder) => {
    await write(folder, { 'a.yaml': '1', 'b.yaml': '1' })
    // The second file cannot be written: its folder would have the name of a file.
    writeFileSync(join(folder, 'templates'), 'mine')
    await assert.rejects(write(folder, { 'a.yaml': '2', 'templates/c.yaml': '2' }), /is a file/)
    assert.deepEqual(textsIn(folder), { 'a.yaml': '1', 'b.yaml': '1', templates: 'mine' })

    // The drafts can be written, but the second cannot get its name: the first one is restored.
    await assert.rejects(
      write(folder, { 'a.yaml': '2', 'd.yaml': '2', 'd.yaml/e.yaml': '2' }),
      /it has a folder with the name of a file/,
    )
    assert.deepEqual(textsIn(folder), { 'a.yaml': '1', 'b.yaml': '1', templates: 'mine' })

    const created = join(folder, 'created')
    await assert.rejects(write(created, { 'a.yaml': '1', 'a.yaml/b.yaml': '1' }))
    assert.ok(!existsSync(created))
  }))
