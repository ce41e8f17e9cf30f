import { hexToBigInt, hexToBytes, type LocalAccount } from 'viem'
import { describe, expect, test } from 'vitest'
import { leaksOf } from '../../../test/support/leaks.js'
import { onSend, openLane, TIMES_OUT, transfer } from '../../api/sender/simLane.fixture.js'
import { memoryStore } from '../../store/memory.js'

const DIGITS = 'c0ffee5eed0badc0de1234567890abcdef00112233445566778899aabbccddee'
const KEY = `0x${DIGITS}` as const
const BYTES = hexToBytes(KEY)
const BASE64 = Buffer.from(BYTES).toString('base64')
// Base64 without a slash or a plus that would split it.
const PLAIN_BASE64 = Buffer.from(`1234567890ab${DIGITS.slice(40)}${DIGITS.slice(0, 16)}1234`, 'hex').toString(
  'base64',
)
const BASE64_URL = Buffer.from(BYTES).toString('base64url')
const PHRASE = 'legal winner thank year wave sausage worth useful legal winner thank yellow'
const DECIMAL = hexToBigInt(KEY).toString()

const SECRETS = [
  DIGITS,
  DIGITS.slice(0, 32),
  BASE64.slice(0, 12),
  BASE64.slice(-12),
  PLAIN_BASE64.slice(4, 20),
  BASE64_URL.slice(-12),
  DECIMAL.slice(0, 30),
  'winner',
  'sausage',
  '192,255,238',
  'c0 ff ee',
]

/**
 * Values that an account may throw. Its code knows the key, and its errors may have any message and fields.
 */
const THROWN: Readonly<Record<string, () => unknown>> = {
  'a key behind 0x': () => new Error(`cannot use ${KEY}`),
  'a key behind a space': () => new Error(`invalid key material ${DIGITS}`),
  'a key that is called a hash': () => new Error(`transaction hash ${KEY}`),
  'a key in base64': () => new Error(`bad key ${BASE64} given`),
  'a key in base64 that nothing announces': () => new Error(`${BASE64}`),
  'a key in base64 without slashes': () => new Error(`${PLAIN_BASE64} is no key`),
  'a key as a number': () => new Error(`scalar ${DECIMAL} is out of range`),
  'a key as bytes': () =>
    new Error(`got [${[...BYTES].join(',')}] (${Buffer.from(BYTES).toString('hex').replace(/../g, '$& ')})`),
  'a JSON object': () => new Error(JSON.stringify({ privateKey: KEY, nested: { d: BASE64_URL, raw: KEY } })),
  'a mnemonic': () => new Error(`could not derive from ${PHRASE}`),
  'a mnemonic as JSON': () => new Error(JSON.stringify({ words: PHRASE.split(' ') })),
  'fields of the error': () =>
    Object.assign(new Error('no'), {
      privateKey: KEY,
      hash: KEY,
      data: KEY,
      scalar: hexToBigInt(KEY),
      words: PHRASE.split(' '),
      bytes: [...BYTES],
      buffer: BYTES,
      [KEY]: 1,
    }),
  'a cause': () => new Error('no', { cause: new Error(`inner ${KEY}`, { cause: BASE64 }) }),
  'an error that calls itself one of ours': () =>
    Object.assign(new Error(`Sent as ${KEY}.`), {
      name: 'TxlaneError',
      code: 'REJECTED',
      fate: 'notExecuted',
    }),
  'a cause that calls itself one of ours': () =>
    new Error('no', {
      cause: Object.assign(new Error(`as ${KEY}`), { name: 'TxlaneError', fate: 'inFlight' }),
    }),
  'a text': () => `no: ${KEY} ${BASE64}`,
  'a name': () => Object.assign(new Error('no'), { name: `Error ${KEY}` }),
}

function openHostile() {
  const logged: unknown[] = []
  const log = (fields: object, message?: string) => void logged.push([fields, message])
  const store = memoryStore()
  const { enqueue, write } = store
  const kept: unknown[] = []
  store.enqueue = (transactions) => {
    kept.push(transactions)
    return enqueue(transactions)
  }
  store.write = (lease, change) => {
    kept.push(change)
    return write(lease, change)
  }
  const open = openLane({ store, logger: { debug: log, info: log, warn: log, error: log } })
  return { open, logged, kept }
}

/** Makes the account throw from its next signature on. */
function poison(account: LocalAccount, thrown: () => unknown): void {
  const throws = () => Promise.reject(thrown())
  Object.assign(account, { signTransaction: throws, signAuthorization: throws })
}

describe.each(Object.entries(THROWN))('an account that throws %s', (_, thrown) => {
  test('leaks no secret when it signs a transaction', async () => {
    const { open, logged, kept } = openHostile()
    await using lane = await open
    poison(lane.account, thrown)
    const error = await lane.rejection(lane.sender.send(transfer(1), { id: 'a' }))
    expect(error).toMatchObject({ code: 'SIGNER', fate: 'notExecuted', tx: { id: 'a' } })
    expect(leaksOf(error, SECRETS)).toEqual([])
    const { items } = await lane.settle(lane.sender.list())
    expect(items).toHaveLength(1)
    expect(kept.length).toBeGreaterThan(1)
    expect(leaksOf([lane.reported, logged, kept, items, await lane.snapshot()], SECRETS)).toEqual([])
  })

  test('leaks no secret when it signs an authorization', async () => {
    const { open, logged, kept } = openHostile()
    await using lane = await open
    poison(lane.account, thrown)
    const authorize = [{ contractAddress: lane.account.address }]
    const request = { ...transfer(1), gas: 100_000n, authorize } as never
    const error = await lane.rejection(lane.sender.send(request, { id: 'a' }))
    expect(error).toMatchObject({ code: 'SIGNER', fate: 'notExecuted' })
    expect(leaksOf([error, lane.reported, logged, kept], SECRETS)).toEqual([])
  })

  test('leaks no secret when it signs a transaction that lost its nonce, and signs again later', async () => {
    const { open, logged, kept } = openHostile()
    await using lane = await open
    const { signTransaction, signAuthorization } = lane.account
    lane.script = onSend(() => TIMES_OUT)
    const tx = await lane.settle(lane.sender.send(transfer(1), { id: 'a', until: 'queued' }))
    await lane.until(() => lane.sent.length > 0)
    lane.foreign()
    lane.script = undefined
    poison(lane.account, thrown)
    await lane.until(() => lane.events('error').length > 0)
    expect(leaksOf([lane.reported, logged, kept, tx.toJSON(), tx.waitingFor], SECRETS)).toEqual([])
    Object.assign(lane.account, { signTransaction, signAuthorization })
    await lane.settle(tx.wait('sealed'))
  })
})
