import { pad } from 'viem'
import { expect, test } from 'vitest'
import type { WebhookPayload } from '../../../src/outbox/index.js'
import type { ExecutedTx } from '../../demo/walk.js'
import { wantedOf } from './requests.js'
import { type Evidence, verdictOf } from './verdict.js'

const ACCOUNT = pad('0xa', { size: 20 })
const one = wantedOf({ name: 'alice', token: 'token' }, 1, 0)
const hash = pad('0x1')

function executed(nonce: number, over: Partial<ExecutedTx> = {}): ExecutedTx {
  return { nonce, hash, blockNumber: 1, status: 'success', to: one.to, data: '0x', value: 1n, ...over }
}

function delivery(id: string, key = id): WebhookPayload['data'] {
  return { key, stage: 'settled', number: 1, tx: { id } } as WebhookPayload['data']
}

const RIGHT: Evidence = {
  wanted: [one],
  others: ['mallory/0'],
  reported: [
    { id: 'alice/1-0', stage: 'sealed', hash },
    { id: 'mallory/0', stage: 'failed' },
  ],
  executed: new Map([[ACCOUNT, [executed(0)]]]),
  deliveries: [delivery('alice/1-0')],
  hooked: new Set(['alice']),
}
const NOTHING = { lost: 0, twice: 0, stranded: 0, contradictions: 0, gaps: 0, unheard: 0, repeated: 0 }

test('a request that is accepted, executed once, reported and delivered is no problem', () => {
  expect(verdictOf(RIGHT)).toEqual({ ...NOTHING, executed: 1, problems: [] })
})

const elsewhere = { to: pad('0xb', { size: 20 }), hash: pad('0x2') }

test.each<[string, Partial<Evidence>, Partial<typeof NOTHING>]>([
  ['never executed', { executed: new Map([[ACCOUNT, [executed(0, elsewhere)]]]) }, { lost: 1 }],
  [
    'executed by two accounts',
    {
      executed: new Map([
        [ACCOUNT, [executed(0)]],
        [pad('0xc', { size: 20 }), [executed(0)]],
      ]),
    },
    { twice: 1 },
  ],
  [
    'without an end',
    { reported: [...RIGHT.reported, { id: 'mallory/1', stage: 'queued' }] },
    { stranded: 1 },
  ],
  ['accepted, and not known', { reported: RIGHT.reported.slice(1) }, { contradictions: 1 }],
  ["another's, accepted, and not known", { others: ['mallory/0', 'mallory/2'] }, { contradictions: 1 }],
  [
    'reported as failed, and executed',
    { reported: [{ id: 'alice/1-0', stage: 'failed' }], others: [] },
    { contradictions: 1 },
  ],
  [
    'reported with another hash',
    { reported: [{ id: 'alice/1-0', stage: 'safe', hash: pad('0x3') }], others: [] },
    { contradictions: 1 },
  ],
  ['above a nonce that is left out', { executed: new Map([[ACCOUNT, [executed(1)]]]) }, { gaps: 1 }],
  ['not delivered', { deliveries: [] }, { unheard: 1 }],
])('a transaction that is %s is found', (_, change, found) => {
  const { problems, ...counts } = verdictOf({ ...RIGHT, ...change })
  expect(counts).toMatchObject({ ...NOTHING, ...found })
  expect(problems).toHaveLength(1)
})

test('a repeated delivery is counted, and is no problem', () => {
  const deliveries = [delivery('alice/1-0'), delivery('alice/1-0')]
  expect(verdictOf({ ...RIGHT, deliveries })).toMatchObject({ repeated: 1, problems: [] })
})
