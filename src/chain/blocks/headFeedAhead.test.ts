import { pad, toHex } from 'viem'
import { expect, test } from 'vitest'
import { rawBlock } from '../../../test/contract/stubPort.js'
import { openChain } from './announcedChain.fixture.js'

const POLL = 'eth_getBlockByNumber'

test('heads that the read endpoint shows a second later than they are announced cost no more polls than blocks', async () => {
  const chain = openChain({ announces: true })
  chain.wire.announce = (number) => {
    // The node that announces is ahead of the one that is read.
    const hash = pad(toHex(1_000_000 + number), { size: 32 })
    chain.announce(rawBlock({ number: toHex(number + 5), hash }))
  }
  await chain.clock.advance(30_000)
  expect(chain.called(POLL, 20_000)).toBeLessThanOrEqual(6 * 20)
  expect(Math.max(...chain.delaysMs(20_000))).toBeLessThanOrEqual(225)
  chain.close()
})

test('heads that are announced a moment before they are shown are polled for until then', async () => {
  const EARLY_MS = 50
  const chain = openChain({ announces: true })
  const say = (number: number, name: number) =>
    chain.announce(rawBlock({ number: toHex(number), hash: pad(toHex(name), { size: 32 }) }))
  chain.wire.announce = (number) => {
    if (number === 40) say(90, 1_000_000)
    chain.clock.setTimer(() => say(number + 1, number + 2), 200 - EARLY_MS)
  }
  await chain.clock.advance(30_000)
  expect(Math.max(...chain.delaysMs(10_000))).toBeLessThanOrEqual(EARLY_MS)
  chain.close()
})
