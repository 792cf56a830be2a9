import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseAddress } from '../../lib/manager/servers/address.ts'

test('a number is a port on loopback; a colon and a port is all interfaces, as in Go; a host is a host', () => {
  assert.deepEqual(parseAddress(8080), { host: '127.0.0.1', port: 8080 })
  assert.deepEqual(parseAddress(0), { host: '127.0.0.1', port: 0 })
  assert.deepEqual(parseAddress(':8080'), { host: undefined, port: 8080 })
  assert.deepEqual(parseAddress(':0'), { host: undefined, port: 0 })
  assert.deepEqual(parseAddress('localhost:8080'), { host: 'localhost', port: 8080 })
  assert.deepEqual(parseAddress('0.0.0.0:65535'), { host: '0.0.0.0', port: 65_535 })
  assert.deepEqual(parseAddress('[::1]:8080'), { host: '::1', port: 8080 })
})

test('an invalid address is refused, with a valid example', () => {
  for (
    const address of [
      '',
      'localhost',
      '::1:8080',
      '[::1]',
      'localhost:',
      'localhost:http',
      'a b:80',
      'http://a:80',
      ':-1',
    ]
  ) {
    assert.throws(
      () => parseAddress(address),
      /^TypeError: Cannot listen on ".*": write a port as a number, ":8080" for all interfaces/,
      address,
    )
  }
  for (const address of [-1, 1.5, 65_536, NaN, ':65536', 'a:99999']) {
    assert.throws(
      () => parseAddress(address),
      /^TypeError: Cannot listen on .*: a port is a whole number from 0 to 65535$/,
      String(address),
    )
  }
})

test('a port as a string is refused, with both possible meanings', () => {
  assert.throws(() => parseAddress('9082'), {
    name: 'TypeError',
    message: 'Cannot listen on "9082": write 9082 (a number) for 127.0.0.1 alone, or ":9082" for all interfaces',
  })
})
