import { describe, expect, it } from 'vitest'
import { leaksOf } from '../support/leaks.js'

const URL_KEY = 'https://rpc.example.com/v2/key'
const withCause = (cause: unknown) => new Error('failed', { cause })

describe('the walk over an error finds a credential at any depth', () => {
  it.each<[string, unknown]>([
    ['in the message', new Error(`cannot reach ${URL_KEY}`)],
    ['in the cause of a cause', withCause(withCause(new Error(URL_KEY)))],
    ['in the stack alone', Object.assign(new Error('failed'), { stack: `Error: at ${URL_KEY}` })],
    ['in an array', Object.assign(new Error('failed'), { metaMessages: ['', `URL: ${URL_KEY}`] })],
    ['in a hidden property', Object.defineProperty(new Error('failed'), 'url', { value: URL_KEY })],
    ['behind a getter', Object.defineProperty(new Error('failed'), 'url', { get: () => URL_KEY })],
    ['in a map', Object.assign(new Error('failed'), { headers: new Map([['referer', URL_KEY]]) })],
    ['in a URL', Object.assign(new Error('failed'), { at: new URL(URL_KEY) })],
    ['under a symbol', Object.assign(new Error('failed'), { [Symbol('url')]: URL_KEY })],
    ['as a key', Object.assign(new Error('failed'), { byUrl: { [URL_KEY]: 1 } })],
    ['as user and password', new Error('at wss://user:pass@rpc.example.com')],
    ['as a query', new Error('at https://rpc.example.com?key=1')],
    ['as a connection string', new Error('at postgres://user:pass@db/lanes')],
    [
      'beside a cycle',
      (() => {
        const error = new Error(URL_KEY)
        error.cause = error
        return error
      })(),
    ],
  ])('%s', (_, error) => {
    expect(leaksOf(error)).not.toEqual([])
  })

  it('finds a given secret in any letter case', () => {
    expect(leaksOf(new Error('0xABCDEF'), ['abcdef'])).not.toEqual([])
  })

  it.each([
    'https://rpc.example.com',
    'at http://127.0.0.1:8545/ (refused)',
    'ws://localhost:1, wss://b',
    'no URL/path?x',
  ])('accepts an origin: %s', (text) => {
    expect(leaksOf(new Error(text))).toEqual([])
  })
})
