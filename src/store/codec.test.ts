import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { attempt, byOther, hash, liveSlot, reserved, usedSlot } from '../ledger/samples.fixture.js'
import type { Slot } from '../ledger/slot.js'
import type { StoredTransaction } from '../types/store.js'
import { decodeCommand, decodeDelivery, decodeSlot, decodeTransaction, encodeBody } from './codec.js'

const transaction: StoredTransaction = {
  id: 'payout "7"\u0000\ud800 é',
  lane: { chainId: 31_337, genesisHash: hash('genesis'), address: '0xaa' },
  fingerprint: hash('print'),
  request: { to: '0xbb', value: 2n ** 255n, data: '0x', accessList: [{ address: '0xcc', storageKeys: [] }] },
  sequence: 3,
  priority: -1,
  gas: 21_000n,
  feeCeiling: undefined,
  expiresAtMs: undefined,
  onExpiry: 'leave',
  replaces: undefined,
  needs: { after: ['a'], effect: { address: '0xdd', slot: '0x01', value: '0x02' } },
  stage: 'queued',
  nonce: undefined,
  hash: undefined,
  status: undefined,
  failure: undefined,
  createdAtMs: 1.5,
}

const slots: readonly Slot[] = [
  { state: 'hole', nonce: 7, attempts: [attempt('a', 'a1')] },
  reserved({ committing: 2 }),
  { state: 'outside', nonce: 7, attempts: [], origin: 'seeded' },
  liveSlot({ end: 'void', attempts: [attempt(undefined, 'n1', { fees: { gasPrice: 0n } })] }),
  usedSlot(byOther, { at: undefined }),
  { state: 'final', nonce: 7, attempts: [] },
]

const withRequest = (request: object) => ({ ...transaction, request }) as StoredTransaction

describe('a stored record is read back unchanged', () => {
  it.each(slots.map((slot) => [slot.state, slot] as const))('a slot: %s', (_, slot) => {
    expect(decodeSlot(encodeBody(slot))).toStrictEqual(slot)
  })

  it('a transaction, with its undefined fields', () => {
    expect(decodeTransaction(encodeBody(transaction))).toStrictEqual(transaction)
  })

  it('a remote command', () => {
    for (const command of [
      { kind: 'cancel' },
      { kind: 'speedUp', fees: undefined },
      { kind: 'speedUp', fees: { gasPrice: 5n } },
    ] as const) {
      expect(decodeCommand(encodeBody(command))).toStrictEqual(command)
    }
  })

  it("any request: with the format's own keys, Maps, and numbers that JSON lacks", () => {
    const leaf = fc.oneof(
      fc.string(),
      fc.bigInt(),
      fc.double(),
      fc.constant(-0),
      fc.boolean(),
      fc.constant(undefined),
      fc.constant(null),
    )
    const key = fc.oneof(
      fc.string(),
      fc.constantFrom('$bigint', '$object', '$undefined', '$', '__proto__', 'v'),
    )
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { depthSize: 'small', withCrossShrink: true },
        leaf,
        fc.array(tie('tree')),
        fc.dictionary(key, tie('tree'), { noNullPrototype: true }),
        fc.array(fc.tuple(leaf, tie('tree'))).map((entries) => new Map(entries)),
      ),
    }))
    fc.assert(
      fc.property(tree, (value) => {
        const read = decodeTransaction(encodeBody(withRequest({ data: value })))
        expect((read.request as { data?: unknown }).data).toEqual(value)
      }),
    )
  })

  it('the body is one line of text that fits any column', () => {
    const text = encodeBody(transaction)
    expect(text).not.toContain('\u0000')
    expect(encodeURIComponent(text)).toContain('d800')
    expect(text).not.toMatch(/[\n\r]/)
  })
})

describe('values that cannot be stored', () => {
  it("the sender's own account and chain are left out, with the functions that they contain", () => {
    const account = { address: '0xaa', sign: () => 'signed' }
    const read = decodeTransaction(encodeBody(withRequest({ to: '0xbb', account, chain: { id: 1 } })))
    expect(read.request).toStrictEqual({ to: '0xbb' })
  })

  it.each([
    ['a function', { data: () => 1 }, 'transaction.request.data'],
    ['a symbol', { data: Symbol('x') }, 'transaction.request.data'],
    ['an instance of a class', { data: [new Date(0)] }, 'transaction.request.data[0]'],
  ])('a value is refused with its path: %s', (_, request, place) => {
    expect(() => encodeBody(withRequest(request))).toThrow(
      expect.objectContaining({ code: 'INVALID', shortMessage: expect.stringContaining(place) }),
    )
  })
})

describe('a text that cannot be read is STORE, and is not quoted', () => {
  const body = encodeBody(transaction)

  it.each([
    ['nothing', ''],
    ['half of it', body.slice(0, -20)],
    ['another format', body.replace('"v":1', '"v":2')],
    ['no format', body.replace('"v":1', '"w":1')],
    ['a slot', encodeBody(liveSlot())],
    ['a command', encodeBody({ kind: 'cancel' })],
    ['a list', '[]'],
    ['a number', '1'],
    ['no body', '{"v":1}'],
    ['a field that is something else', body.replace('"sequence":3', '"sequence":"3"')],
    ['an unknown kind of value', body.replace('$bigint', '$float')],
    ['a broken bigint', body.replace('"21000"', '"0xsecretbytes!"')],
  ])('%s', (_, text) => {
    let thrown: unknown
    try {
      decodeTransaction(text)
    } catch (error) {
      thrown = error
    }
    expect(thrown).toMatchObject({ name: 'TxlaneError', code: 'STORE' })
    expect(String(thrown)).not.toContain('secretbytes')
    expect(String(thrown)).not.toContain('payout')
  })

  it('a delivery has a format that the former version refuses, and the former one is read', () => {
    const chain = { chainId: 1, genesisHash: `0x${'1'.repeat(64)}` } as const
    const delivered = { stage: 'sealed', life: 0 }
    const delivery = { chain, id: 'told', state: 'delivered', delivered, count: 1, tries: 0 } as const
    const text = encodeBody(delivery)
    expect(text).toMatch(/^{"v":2,/)
    const former = text
      .replace('"v":2', '"v":1')
      .replace('"state":"delivered"', '"state":"told"')
      .replace('"delivered":{', '"told":{')
    expect(decodeDelivery(former)).toEqual(delivery)
  })

  it('the error names the format that was found and the one that is read', () => {
    expect(() => decodeSlot(encodeBody(liveSlot()).replace('"v":2', '"v":3'))).toThrow(/format 3.*format 2/s)
  })
})
