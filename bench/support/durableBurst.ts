import type { Sender } from '../../src/index.js'
import { givenTransfer } from './node.js'

/** Sends so many transfers from `first` on, each with an id of its own; resolves when the last was accepted. */
export async function burstWith(sender: Sender, first: number, count: number): Promise<void> {
  await Promise.all(
    Array.from({ length: count }, (_, index) => {
      const number = first + index
      // Ids are one per store: another round on the same server needs others.
      return sender.send(givenTransfer(number), { id: `${sender.address}-${number}` })
    }),
  )
}
