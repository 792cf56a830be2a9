import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RotatingFile } from '../../lib/config/rotating_file.ts'
import { ConfigError } from '../../lib/core/errors.ts'
import { silentLog } from '../../lib/observe/log.ts'
import { type FakeEnvironment, fakeEnvironment } from './fake_environment.ts'

function rotating(environment: FakeEnvironment, parse = (text: string): string => text, log = silentLog): RotatingFile {
  return new RotatingFile({ environment, log, file: '/f', what: 'token', parse })
}

test('a file is read at most once a minute', async () => {
  const environment = fakeEnvironment({ files: { '/f': 'one' } })
  const file = rotating(environment)
  for (let n = 0; n < 100; n++) assert.equal(await file.read(), 'one')
  environment.files['/f'] = 'two'
  environment.advance(59_999)
  assert.equal(await file.read(), 'one')
  assert.equal(environment.reads.length, 1)
  environment.advance(1)
  assert.equal(await file.read(), 'two')
  // The second rotation like the first.
  environment.files['/f'] = 'three'
  environment.advance(59_999)
  assert.equal(await file.read(), 'two')
  environment.advance(1)
  assert.equal(await file.read(), 'three')
  assert.equal(environment.reads.length, 3)
})

test('concurrent calls share one read, and later calls begin another', async () => {
  const environment = fakeEnvironment({ files: { '/f': 'one' } })
  const file = rotating(environment)
  assert.deepEqual(new Set(await Promise.all(Array.from({ length: 50 }, () => file.read()))), new Set(['one']))
  assert.equal(environment.reads.length, 1)
  environment.files['/f'] = 'two'
  file.invalidate()
  assert.deepEqual(new Set(await Promise.all(Array.from({ length: 50 }, () => file.read()))), new Set(['two']))
  assert.equal(environment.reads.length, 2)
  await file.read()
  assert.equal(environment.reads.length, 2)
})

test('a missing or invalid file is read once a minute, and its last text stays in use', async () => {
  const environment = fakeEnvironment({ files: { '/f': 'one' } })
  const file = rotating(environment, (text) => {
    if (text === '') throw new ConfigError('it is empty')
    return text
  })
  await file.read()
  for (const broken of [undefined, '']) {
    if (broken === undefined) delete environment.files['/f']
    else environment.files['/f'] = broken
    environment.advance(60_000)
    const before = environment.reads.length
    for (let n = 0; n < 10; n++) assert.equal(await file.read(), 'one')
    assert.equal(environment.reads.length, before + 1)
  }
  environment.files['/f'] = 'two'
  environment.advance(60_000)
  assert.equal(await file.read(), 'two')
})

test('a file that was never read is read on each call, as there is no last text', async () => {
  const environment = fakeEnvironment()
  const file = rotating(environment)
  await assert.rejects(file.read(), /Cannot read token \/f: there is no such file/)
  file.invalidate()
  environment.files['/f'] = 'one'
  assert.equal(await file.read(), 'one')
})

test('a file that is invalidated while it is read is read again', async () => {
  const environment = fakeEnvironment({ files: { '/f': 'one' } })
  const file = rotating(environment)
  const first = file.read()
  file.invalidate()
  environment.files['/f'] = 'two'
  // The request that was refused is sent again at once.
  const second = file.read()
  assert.equal(environment.reads.length, 1, 'after the first, whose text would replace it')
  assert.equal(await first, 'one')
  assert.deepEqual(await Promise.all([second, file.read()]), ['two', 'two'])
  assert.deepEqual([await file.read(), environment.reads.length], ['two', 2])
})

test('one line a minute tells of a file that cannot be read, however often it is invalidated', async () => {
  const environment = fakeEnvironment({ files: { '/f': 'one' } })
  const lines: string[] = []
  const file = rotating(environment, undefined, { ...silentLog, warn: (message) => void lines.push(message) })
  await file.read()
  delete environment.files['/f']
  for (const count of [1, 2]) {
    for (let n = 0; n < 10; n++) {
      file.invalidate()
      assert.equal(await file.read(), 'one')
    }
    assert.equal(lines.length, count)
    environment.advance(60_000)
  }
  assert.equal(environment.reads.length, 21)
})
