import type { Sender } from '../../src/index.js'
import { givenTransfer } from './node.js'

/** Sends `count` transfers from `first` on, each with its own id; resolves when the last was accepted. */
export async function burstWith(sender: Sender, first: number, count: number): Promise<void> {
  await Promise.all(
    Array.from({ length: count }, (_, index) => {
      const number = first + index
      // Ids are unique per store, and later rounds use the same server.
      return sender.send(givenTransfer(number), { id: `${sender.address}-${number}` })
    }),
  )
}
