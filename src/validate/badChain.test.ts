import type { Hex } from 'viem'
import { privateKeyToAccount, toAccount } from 'viem/accounts'
import { describe, expect, test } from 'vitest'
import { createChain } from '../../test/sim/chain/chain.js'
import { createSimPort } from '../../test/sim/port/simPort.js'
import { createRandom } from '../../test/sim/random.js'
import { createStubAccount } from '../../test/sim/stubAccount.js'
import { createSenderIn } from '../api/sender/sender.js'
import { ACCOUNT, openLane, type SimLane, transfer } from '../api/sender/simLane.fixture.js'
import { createShared } from '../chain/environment.js'
import { nativeAccountWith } from '../signer/nativeAccount.js'
import type { Sender } from '../types/index.js'

const create = (lane: SimLane, options: Record<string, unknown>): Sender =>
  createSenderIn(lane.environment, { ...lane.parameters, ...options } as never)

describe('chains and keys that do not fit are found before a nonce is used', () => {
  test('the endpoint is on another chain: CHAIN_MISMATCH at ready', async () => {
    await using lane = await openLane({ closed: true })
    const { client } = lane.parameters
    const sender = create(lane, { client: { ...client, chain: { ...client.chain, id: 1 } } })
    expect(await lane.rejection(sender.ready())).toMatchObject({
      code: 'CHAIN_MISMATCH',
      fate: 'notExecuted',
    })
    expect(await lane.rejection(sender.send(transfer(1)))).toMatchObject({
      code: 'CHAIN_MISMATCH',
      fate: 'notExecuted',
    })
    expect(lane.sent).toEqual([])
  })

  test('two endpoints with one chain id and two genesis blocks are two chains: CHAIN_MISMATCH', async () => {
    await using lane = await openLane({ closed: true })
    const { clock } = lane
    // Another genesis: the hash is made from the chain id and the name of the block.
    const accounts = [{ address: ACCOUNT, balanceWei: 1n }] as const
    const twin = createSimPort(createChain({ clock, random: createRandom(7), accounts }), {
      clock,
      random: createRandom(8),
    })
    const forged = { ...twin, batch: forge(twin.batch) }
    const portsOf = () => [lane.port, forged].map((port) => ({ port, role: 'both' as const }))
    const sender = createSenderIn({ ...lane.environment, shared: createShared(), portsOf }, lane.parameters)
    expect(await lane.rejection(sender.ready())).toMatchObject({
      code: 'CHAIN_MISMATCH',
      fate: 'notExecuted',
    })
  })

  /** Every block of this endpoint has another hash. */
  function forge(batch: SimLane['port']['batch']): SimLane['port']['batch'] {
    return async (calls, options) =>
      (await batch(calls, options)).map((reply) => {
        const block = reply.ok ? (reply.result as { hash?: string } | null) : null
        return reply.ok && block?.hash
          ? { ok: true, result: { ...block, hash: `0x${'ee'.repeat(32)}` } }
          : reply
      })
  }

  const key: Hex = `0x${'42'.repeat(32)}`
  test.each([
    ['made of functions', toAccount({ ...privateKeyToAccount(key), address: ACCOUNT } as never)],
    ['a copy of a native one', { ...nativeAccountWith(key, async () => undefined), address: ACCOUNT }],
  ])(
    "a key that is not the account's, %s: SIGNER naming both, nothing sent, no nonce used",
    async (_, account) => {
      await using lane = await openLane({ closed: true })
      lane.chain.start()
      const other = privateKeyToAccount(key)
      const sender = create(lane, { account })
      for (const marker of [1, 2]) {
        const error = await lane.rejection(sender.send(transfer(marker)))
        expect(error).toMatchObject({ code: 'SIGNER', fate: 'notExecuted' })
        expect(error.message).toContain(other.address)
      }
      expect(lane.sent).toEqual([])
      expect(await lane.settle(sender.snapshot())).toMatchObject({ cursor: 0, inFlight: 0 })
      await lane.settle(sender.close())
    },
  )

  test('an account that gives back no bytes: SIGNER', async () => {
    await using lane = await openLane({ closed: true })
    lane.chain.start()
    const account = { ...createStubAccount(ACCOUNT), signTransaction: async () => ({ r: 1 }) }
    const sender = create(lane, { account })
    expect(await lane.rejection(sender.send(transfer(1)))).toMatchObject({
      code: 'SIGNER',
      fate: 'notExecuted',
    })
    expect(lane.sent).toEqual([])
    await lane.settle(sender.close())
  })
})
