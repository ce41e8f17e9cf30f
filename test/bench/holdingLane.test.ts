import { privateKeyToAccount } from 'viem/accounts'
import { expect, test } from 'vitest'
import { openHoldingLane } from '../../bench/support/holdingLane.js'
import { givenTransfer } from '../../bench/support/node.js'

test('the node of the memory and tracking claims works with the sender: it accepts transactions and mines nothing', async () => {
  const { sender, take } = openHoldingLane(privateKeyToAccount(`0x${'43'.repeat(32)}`), 64)
  await sender.ready()
  await Promise.all([1, 2, 3].map((marker) => sender.send(givenTransfer(marker))))
  expect(await sender.snapshot()).toMatchObject({ inFlight: 3, queued: 0, holds: [] })
  expect(take().flat()).toContain('eth_sendRawTransaction')
  await sender.close()
})
