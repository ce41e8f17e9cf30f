import { describe, expect, test } from 'vitest'
import { createStubAccount } from '../../../test/sim/stubAccount.js'
import type { Sender } from '../../types/index.js'
import { createLanesIn, type LanesParameters } from '../lanes.js'
import { openLane, type SimLane, transfer } from './simLane.fixture.js'

type Options = LanesParameters<readonly never[]>

function open(lane: SimLane, onSender: Options['onSender'], more: object = {}) {
  const { client, ...options } = lane.parameters
  const chains = [{ ...options, client }]
  return createLanesIn(lane.environment, { chains, onSender, ...more } as never)
}

describe('onSender of createLanes', () => {
  test('is called once with each sender that is used, before the sender does any work', async () => {
    await using lane = await openLane()
    const heard: string[] = []
    const made: Sender[] = []
    const lanes = open(lane, (sender) => {
      made.push(sender)
      return sender.on('queued', ({ tx }) => heard.push(tx.id))
    })
    const { account } = lane
    const options = { chainId: lane.chain.settings.chainId as never, account }
    const sender = lanes.sender(options)
    expect(made).toEqual([])
    await lane.settle(sender.send(transfer(1), { id: 'a' }))
    await lane.settle(lanes.sender(options).send(transfer(2), { id: 'b' }))
    expect(made).toEqual([sender])
    expect(heard).toEqual(['a', 'b'])
    await lane.settle(sender.drain())
    await lane.settle(lanes.close())
  })

  test('is called for the members of a pool too', async () => {
    await using lane = await openLane()
    const made: string[] = []
    const lanes = open(lane, ({ address }) => void made.push(address))
    const accounts = [0xb1, 0xb2].map((end) =>
      createStubAccount(`0x${'0'.repeat(38)}${end.toString(16)}`, { clock: lane.clock }),
    )
    lanes.pool({ chainId: lane.chain.settings.chainId as never, accounts })
    expect(made).toEqual(accounts.map(({ address }) => address))
    await lane.settle(lanes.close())
  })

  test('its returned function is called once the sender has closed, alone or with all lanes', async () => {
    await using lane = await openLane()
    const left: string[] = []
    const lanes = open(lane, (sender) => () => void left.push(`${sender.health().ready}`))
    const options = { chainId: lane.chain.settings.chainId as never, account: lane.account }
    const first = lanes.sender(options)
    await lane.settle(first.ready())
    expect(left).toEqual([])
    await lane.settle(first.close())
    expect(left).toEqual(['false'])
    await lane.settle(lanes.sender(options).ready())
    await lane.settle(lanes.close())
    expect(left).toEqual(['false', 'false'])
  })

  test('an error of the hook is logged and has no other effect; a value that is no function is refused at once', async () => {
    await using lane = await openLane()
    const logged: unknown[][] = []
    const logger = { info() {}, error: (...line: unknown[]) => void logged.push(line) }
    const off = () => {
      throw new Error('not at the end either')
    }
    for (const onSender of [
      () => {
        throw new Error('not my problem')
      },
      () => off,
    ]) {
      const lanes = open(lane, onSender as never, { logger })
      const options = { chainId: lane.chain.settings.chainId as never, account: lane.account }
      await lane.settle(lanes.sender(options).ready())
      await lane.settle(lanes.close())
    }
    expect(logged.map(([, message]) => message)).toEqual(['a listener threw', 'a listener threw'])
    expect(() => open(lane, 'x' as never)).toThrow('onSender')
    expect(() => open(lane, undefined, { onSenders: () => {} })).toThrow('onSender')
  })
})
