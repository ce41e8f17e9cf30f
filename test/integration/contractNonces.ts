import { readFileSync } from 'node:fs'
import { type Abi, type Address, concat, type Hex, type LocalAccount, numberToHex, pad } from 'viem'
import { expect } from 'vitest'
import {
  createNonceAllocator,
  createSender,
  type NonceAllocator,
  type NonceAllocatorParameters,
  type NonceSource,
  type Sender,
  type Tx,
} from '../../src/index.js'
import { startDevnet } from '../../tools/devnet/index.js'

/** A transaction that carries a payload to its contract. */
export type Carrier = { readonly to: Address; readonly data: Hex; readonly gas: bigint }

/** A contract with its own nonces, and a signer for it. */
export type NonceHolder = {
  readonly source: NonceSource<bigint>
  /** Signs a payload that records `id`, or whose inner call reverts; its nonce is used in both cases. */
  sign(nonce: bigint, id: bigint, options?: { reverts?: boolean }): Promise<Carrier>
  /** The next nonce as the contract reports it. */
  nonce(): Promise<bigint>
}

/** A contract artifact from an npm package. */
export function artifact(path: string): { readonly abi: Abi; readonly bytecode: Hex } {
  const file = new URL(`../../node_modules/${path}.json`, import.meta.url)
  return JSON.parse(readFileSync(file, 'utf8')) as { abi: Abi; bytecode: Hex }
}

// Trusts every forwarder (0x572b6c05 is isTrustedForwarder). For other calls, increments the slot that the
// first argument names, or reverts if the second argument is not 0.
const NOTES: Hex = ('0x602c8060095f395ff35f3560e01c63572b6c0514602357602435601f576004358054600101905500' +
  '5b5f5ffd5b60015f5260205ff3') as Hex

/** Calldata for the notes contract. A payload that runs twice is counted twice. */
export function noting(id: bigint, reverts = false): Hex {
  return concat(['0x12345678', numberToHex(id, { size: 32 }), pad(reverts ? '0x01' : '0x00')])
}

export type ContractWorld = Awaited<ReturnType<typeof startContractWorld>>

/**
 * A devnet with the notes contract, and the lanes and allocators opened on it. Each user of it has its own
 * accounts.
 */
export async function startContractWorld() {
  const devnet = await startDevnet({ blockTimeMs: 400, flashblockMs: 200 })
  const opened: { close(): Promise<void> }[] = []
  const client = devnet.client()

  async function deploy(
    { abi, bytecode }: { abi: Abi; bytecode: Hex },
    args: readonly unknown[] = [],
  ): Promise<Address> {
    const { contractAddress } = await sealed(client.deployContract({ abi, bytecode, args }))
    return contractAddress!
  }

  /** viem accepts a pre-confirmed receipt, but the getters are read at `latest`. */
  async function sealed(hash: Promise<Hex>) {
    const receipt = await client.waitForTransactionReceipt({ hash: await hash })
    await devnet.seal()
    return receipt
  }

  const notes = await deploy({ abi: [], bytecode: NOTES })

  function keep<t extends { close(): Promise<void> }>(one: t): t {
    opened.push(one)
    return one
  }

  return {
    devnet,
    client,
    notes,
    deploy,
    /** Waits until the transaction is in a sealed block. */
    async done(hash: Promise<Hex>): Promise<void> {
      const { status } = await sealed(hash)
      expect(status).toBe('success')
    },
    allocator: (
      source: NonceSource<bigint>,
      options: Partial<NonceAllocatorParameters<bigint>> = {},
    ): NonceAllocator<bigint> => keep(createNonceAllocator({ client, address: notes, source, ...options })),
    /** An ordinary lane. */
    lane: (index: number): Sender =>
      keep(
        createSender({
          client: devnet.client(index),
          account: devnet.accounts[index] as LocalAccount,
          lossDepth: 'child',
        }),
      ),
    /** The number of times a payload has run. */
    async noted(id: bigint): Promise<bigint> {
      return BigInt((await client.getStorageAt({ address: notes, slot: numberToHex(id) })) ?? 0)
    },
    async closeAll(): Promise<void> {
      await Promise.all(opened.splice(0).map((one) => one.close()))
    },
  }
}

/** Resolves when `event` was emitted for these nonces. Listens from now on. */
export function reported(
  allocator: NonceAllocator<bigint>,
  event: 'used' | 'foreign' | 'gapFilled',
  nonces: readonly bigint[],
): Promise<void> {
  const left = new Set(nonces)
  return new Promise((resolve) => {
    const off = allocator.on(event, ({ nonce }) => {
      left.delete(nonce)
      if (left.size > 0) return
      off()
      resolve()
    })
  })
}

const BURST = 100

/**
 * A hundred payloads at once, each with a nonce of one allocator, carried in order by an ordinary lane; the
 * inner call of every tenth reverts. All nonces are used, each once, and none is left.
 */
export async function runBurst(world: ContractWorld, holder: NonceHolder, firstId: bigint): Promise<void> {
  const allocator = world.allocator(holder.source)
  const lane = world.lane(1)
  await allocator.ready()
  const first = await holder.nonce()
  const all = Array.from({ length: BURST }, (_, n) => first + BigInt(n))
  const used = reported(allocator, 'used', all)
  const carried = await Promise.all(
    all.map(async (_, n) => {
      const reservation = await allocator.reserve()
      const id = firstId + BigInt(n)
      const carrier = await holder.sign(reservation.nonce, id, { reverts: n % 10 === 9 })
      await reservation.commit({ payload: carrier.data })
      return { nonce: reservation.nonce, carrier }
    }),
  )
  expect(carried.map(({ nonce }) => nonce)).toEqual(all)
  const transactions: Tx[] = []
  for (const { carrier } of carried) transactions.push(await lane.send(carrier, { until: 'queued' }))
  const landed = await Promise.all(transactions.map((tx) => tx.wait('sealed')))
  expect(landed.map(({ status }) => status)).toEqual(all.map(() => 'success'))
  await used
  expect(await holder.nonce()).toBe(first + BigInt(BURST))
  expect(allocator.snapshot()).toMatchObject({ inFlight: 0, holes: [] })
  const ran = await Promise.all(all.map((_, n) => world.noted(firstId + BigInt(n))))
  expect(ran).toEqual(all.map((_, n) => (n % 10 === 9 ? 0n : 1n)))
}

/**
 * Three payloads, and the carrier of the first reverts: no nonce is free, and none above it can land. A
 * stranger submits the same payload, and the others, carried again, land after it.
 */
export async function runRevertedCarrier(
  world: ContractWorld,
  holder: NonceHolder,
  failing: (carrier: Carrier) => Carrier,
  firstId: bigint,
): Promise<void> {
  const allocator = world.allocator(holder.source)
  const [lane, stranger] = [world.lane(1), world.lane(2)]
  const reservations = await allocator.reserveMany(3)
  const nonces = reservations.map(({ nonce }) => nonce)
  const carriers = await Promise.all(nonces.map((nonce, n) => holder.sign(nonce, firstId + BigInt(n))))
  for (const [n, reservation] of reservations.entries()) {
    await reservation.commit({ payload: carriers[n]!.data })
  }
  const send = async (by: Sender, carrier: Carrier) => {
    const tx = await by.send(carrier)
    return (await tx.wait('sealed', { throwOnRevert: false })).status
  }
  expect(await send(lane, failing(carriers[0]!))).toBe('reverted')
  // The first nonce is still missing.
  expect(await send(lane, carriers[1]!)).toBe('reverted')
  expect(await holder.nonce()).toBe(nonces[0])
  await expect(reservations[0]!.release()).rejects.toMatchObject({ code: 'TOO_LATE', fate: 'inFlight' })
  await allocator.resync()
  const next = await allocator.reserve()
  expect(next.nonce).toBe(nonces[2]! + 1n)
  // No payload with this nonce was made public, so the next reservation gets it again.
  await next.release()
  const again = await allocator.reserve()
  expect(again.nonce).toBe(next.nonce)
  await again.release()

  const used = reported(allocator, 'used', nonces)
  expect(await send(stranger, carriers[0]!)).toBe('success')
  expect(await send(lane, carriers[1]!)).toBe('success')
  expect(await send(lane, carriers[2]!)).toBe('success')
  await used
  expect(await holder.nonce()).toBe(nonces[2]! + 1n)
  const ran = await Promise.all(nonces.map((_, n) => world.noted(firstId + BigInt(n))))
  expect(ran).toEqual([1n, 1n, 1n])
}

/** A stranger uses a nonce that was reserved here: its owner is notified, and gets another one. */
export async function runForeign(world: ContractWorld, holder: NonceHolder, id: bigint): Promise<void> {
  const allocator = world.allocator(holder.source)
  const reservation = await allocator.reserve()
  const foreign = reported(allocator, 'foreign', [reservation.nonce])
  const carrier = await holder.sign(reservation.nonce, id)
  const tx = await world.lane(2).send(carrier)
  await tx.wait('sealed')
  await foreign
  await expect(reservation.commit({ payload: '0x12' })).rejects.toMatchObject({
    code: 'TOO_LATE',
    fate: 'notExecuted',
  })
  expect((await allocator.reserve()).nonce).toBe(reservation.nonce + 1n)
}
