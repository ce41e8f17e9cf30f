import { createClient, defineChain, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { base, celo, tempo } from 'viem/chains'
import { describe, expect, test } from 'vitest'
import {
  createLanes,
  createNonceAllocator,
  createSender,
  createSenderPool,
  memoryStore,
  type TxlaneError,
} from '../index.js'
import { postgresStore } from '../store/postgres/index.js'
import { sqliteStore } from '../store/sqlite/index.js'
import { FEES, LANE_OPTIONS, SEND_OPTIONS, SENDER_OPTIONS } from './names.js'
import { defaultLimits } from './validateLane.js'

const account = privateKeyToAccount(`0x${'01'.repeat(32)}`)
const chain = defineChain({
  id: 31_337,
  name: 'Local',
  nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
  rpcUrls: { default: { http: ['http://127.0.0.1:1'] } },
})
const client = createClient({ account, chain, transport: http() })
const to = account.address

async function errorOf(act: () => unknown): Promise<TxlaneError> {
  try {
    await act()
  } catch (error) {
    return error as TxlaneError
  }
  throw new Error('it was taken')
}

const loose = (options: object) => options as never

/** The places that take options, each with one unknown name. */
const places: Readonly<Record<string, (name: string) => unknown>> = {
  createSender: (name) => createSender(loose({ client, [name]: 1 })),
  createSenderPool: (name) => createSenderPool(loose({ client, accounts: [account], [name]: 1 })),
  createNonceAllocator: (name) => createNonceAllocator(loose({ client, address: to, [name]: 1 })),
  createLanes: (name) => createLanes(loose({ chains: [{ client }], [name]: 1 })),
  'a chain of createLanes': (name) => createLanes(loose({ chains: [{ client, [name]: 1 }] })),
  limits: (name) => createSender({ client, limits: { [name]: 1 } }),
  fees: (name) => createSender(loose({ client, fees: { [name]: 1 } })),
  'fees.ceiling': (name) => createSender(loose({ client, fees: { ceiling: { [name]: 1n } } })),
  'fees.bump': (name) => createSender(loose({ client, fees: { bump: { [name]: 1 } } })),
  endpoints: (name) => createSender(loose({ client, endpoints: [{ client, [name]: 1 }] })),
  'endpoints.profile': (name) =>
    createSender(loose({ client, endpoints: [{ client, profile: { [name]: 1 } }] })),
  send: (name) => createSender({ client }).send({ to }, loose({ [name]: 1 })),
  sendSequence: (name) => createSender({ client }).sendSequence([{ to }], loose({ [name]: 1 })),
  sendMany: (name) => createSender({ client }).sendMany([], loose({ [name]: 1 })),
  list: (name) => createSender({ client }).list(loose({ [name]: 1 })),
  drain: (name) => createSender({ client }).drain(loose({ [name]: 1 })),
  'a request': (name) => createSender({ client }).send(loose({ to, [name]: 1n })),
  memoryStore: (name) => memoryStore(loose({ [name]: 1 })),
  sqliteStore: (name) => sqliteStore(loose({ path: '/nowhere/x.db', [name]: 1 })),
  postgresStore: (name) => postgresStore(loose({ connectionString: 'postgres://127.0.0.1:1/x', [name]: 1 })),
}

const typed: readonly (readonly [place: string, name: string, nearest: string])[] = [
  ['send', 'untill', 'until'],
  ['send', 'idd', 'id'],
  ['send', 'feeCieling', 'feeCeiling'],
  ['send', 'afterstage', 'afterStage'],
  ['sendSequence', 'untill', 'until'],
  ['sendMany', 'onprogress', 'onProgress'],
  ['list', 'stages', 'stage'],
  ['drain', 'signl', 'signal'],
  ['a request', 'gasLimit', 'gas'],
  ['a request', 'values', 'value'],
  ['a request', 'maxFeePerGass', 'maxFeePerGas'],
  ['createSender', 'storee', 'store'],
  ['createSender', 'acount', 'account'],
  ['createSenderPool', 'storee', 'store'],
  ['createNonceAllocator', 'adress', 'address'],
  ['createLanes', 'stores', 'store'],
  ['a chain of createLanes', 'broadcasts', 'broadcast'],
  ['limits', 'windowmax', 'windowMax'],
  ['limits', 'batchSize', 'batchMax'],
  ['limits', 'toString', 'sendTimeoutMs'],
  ['fees', 'ceilling', 'ceiling'],
  ['fees.ceiling', 'maxFee', 'maxFeePerGas'],
  ['fees.bump', 'percentage', 'percent'],
  ['endpoints', 'roles', 'role'],
  ['endpoints.profile', 'blockReceipt', 'blockReceipts'],
  ['memoryStore', 'history', 'historyMax'],
  ['sqliteStore', 'retention', 'retentionMs'],
  ['postgresStore', 'schemas', 'schema'],
]

describe('a name that no option has is INVALID, and the nearest one is named', () => {
  test.each(typed)('%s: %s', async (place, name, nearest) => {
    const error = await errorOf(() => places[place]?.(name))
    expect(error).toMatchObject({ code: 'INVALID', fate: 'notExecuted' })
    expect(error.message).toContain(name)
    if (place !== 'limits' || name !== 'toString') expect(error.message).toContain(`did you mean ${nearest}?`)
  })

  test('whichever letter is left out of whichever option', async () => {
    const lists: readonly (readonly [string, object])[] = [
      ['send', SEND_OPTIONS],
      ['createSender', SENDER_OPTIONS],
      ['limits', defaultLimits],
      ['fees.ceiling', FEES],
      ['a chain of createLanes', LANE_OPTIONS],
    ]
    for (const [place, list] of lists) {
      for (const name of Object.keys(list)) {
        for (let at = 0; at < name.length; at++) {
          const wrong = name.slice(0, at) + name.slice(at + 1)
          if (wrong === '' || wrong in list) continue
          const error = await errorOf(() => places[place]?.(wrong))
          expect(error, `${place} ${wrong}`).toMatchObject({ code: 'INVALID' })
          expect(error.message).toMatch(/did you mean \w+\?/)
        }
      }
    }
  })

  test('the value is not shown where it may be a key', async () => {
    const key = `0x${'ab'.repeat(32)}`
    const error = await errorOf(() => createSender(loose({ client, privateKey: key })))
    expect(error.message).toContain('privateKey')
    expect(error.message).not.toContain(key)
  })
})

test('an undefined option counts as not given', async () => {
  createSender(loose({ client, storee: undefined }))
  memoryStore(loose({ histories: undefined }))
  const error = await errorOf(() =>
    createSender({ client }).send(loose({ to, gasLimit: undefined, value: -1n })),
  )
  expect(error.message).toContain('value')
})

describe('fields of a request on a chain with a format of its own', () => {
  const senderOn = (on: typeof base | typeof celo | typeof tempo) =>
    createSender({
      client: createClient({ account, chain: on as typeof base, transport: http('http://127.0.0.1:1') }),
    })

  test('are refused where they are close to a known name, or have another name elsewhere', async () => {
    for (const on of [base, celo]) {
      for (const [name, nearest] of [
        ['gasLimit', 'gas'],
        ['valeu', 'value'],
      ] as const) {
        const error = await errorOf(() => senderOn(on).send(loose({ to, [name]: 1n })))
        expect(error.message).toContain(`did you mean ${nearest}?`)
      }
    }
  })

  test('are UNSUPPORTED where they choose a nonce of another key, with the field named', async () => {
    for (const on of [base, tempo]) {
      for (const name of ['nonceKey', 'validBefore', 'validAfter']) {
        const error = await errorOf(() => senderOn(on).send(loose({ to, gas: 100_000n, [name]: 1n })))
        expect(error, on.name).toMatchObject({ code: 'UNSUPPORTED', fate: 'notExecuted' })
        expect(error.message).toContain(`request.${name}`)
      }
    }
  })

  test('are left to the chain where they are not', async () => {
    const error = await errorOf(() => senderOn(celo).send(loose({ to, gas: 1n, somethingOfTheChain: 1n })))
    expect(error.message).toContain('request.gas')
  })
})
