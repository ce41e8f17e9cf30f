import { type Address, type Client, encodeFunctionData, erc20Abi } from 'viem'
import { readContract } from 'viem/actions'
import type { Sender } from '../../../../src/index.js'
import { feeOf } from '../pay/run.js'
import type { ApprovalPin, PinFile } from './pins.js'

/** The approvals of one account for disperse contracts. */
export type Approvals = {
  /** Waits for approvals that an earlier run sent: they would change the allowance that is read below. */
  settle(): Promise<void>
  /**
   * Approves exactly the sum, once for a token. Resolves when a sealed block has it.
   * @throws Error if it was not executed
   */
  ensure(token: Address, spender: Address, sum: bigint): Promise<void>
  /** The amount that the contract may still draw. */
  left(token: Address, spender: Address): Promise<bigint>
  /**
   * Takes all approvals back, and refuses new ones. Returns the approvals that could not be taken back: the next run
   * tries again.
   */
  takeBack(): Promise<readonly OpenApproval[]>
  /** True if there is something to take back. */
  readonly isOpen: boolean
  /** The transactions of this run, which no line shares. */
  readonly spent: { readonly transactions: number; readonly feeWei: bigint }
}

export type OpenApproval = Pick<ApprovalPin, 'token' | 'spender'>

// The limit for taking approvals back, because a run has to end although a node does not answer. The pins list the
// approvals that are left.
const TAKE_BACK_MS = 90_000

export function createApprovals(
  client: Client,
  sender: Pick<Sender, 'send' | 'get' | 'address'>,
  pinFile: PinFile,
): Approvals {
  const ensured = new Map<string, Promise<void>>()
  const open = new Map<string, OpenApproval>(pinFile.pins.open.map((one) => [keyOf(one), one]))
  const spent = { transactions: 0, feeWei: 0n }
  let taken: Promise<readonly OpenApproval[]> | undefined

  const left = (token: Address, spender: Address) =>
    readContract(client, {
      address: token,
      abi: erc20Abi,
      functionName: 'allowance',
      args: [sender.address, spender],
    })

  async function approve(
    { token, spender }: OpenApproval,
    amount: bigint,
    timeoutMs?: number,
  ): Promise<void> {
    const { approval } = await pinFile.approval(token, spender, amount)
    open.set(keyOf({ token, spender }), { token, spender })
    const data = encodeFunctionData({ abi: erc20Abi, functionName: 'approve', args: [spender, amount] })
    const request = { to: token, value: 0n, data }
    const tx = await sender.send(request, { id: approval, order: 'strict', timeoutMs })
    const { receipt } = await tx.wait('sealed', { throwOnRevert: true, timeoutMs })
    spent.transactions++
    spent.feeWei += feeOf(receipt) ?? 0n
  }

  async function grant(approval: OpenApproval, sum: bigint): Promise<void> {
    const { token, spender } = approval
    // Some tokens only accept a change from or to zero.
    if ((await left(token, spender)) !== 0n) await approve(approval, 0n)
    await approve(approval, sum)
    const granted = await left(token, spender)
    if (granted !== sum) throw new Error(`The token shows an approval of ${granted} in place of ${sum}.`)
  }

  async function release(approval: OpenApproval): Promise<boolean> {
    const { token, spender } = approval
    try {
      if ((await left(token, spender)) !== 0n) await approve(approval, 0n, TAKE_BACK_MS)
      if ((await left(token, spender)) !== 0n) return false
      await pinFile.released(token, spender)
      return true
    } catch {
      return false
    }
  }

  async function releaseAll(): Promise<readonly OpenApproval[]> {
    // An approval that is still being sent could land after the transaction that takes it back.
    await Promise.allSettled(ensured.values())
    const failed: OpenApproval[] = []
    for (const approval of open.values()) if (!(await release(approval))) failed.push(approval)
    return failed
  }

  return {
    async settle() {
      const ids = pinFile.pins.approvals.slice(-OPEN_MAX)
      for (const { approval } of ids) {
        const tx = await sender.get(approval)
        // The outcome of the transaction does not matter, because the allowance is read afterwards.
        await tx?.wait('sealed').catch(() => undefined)
      }
    },
    ensure(token, spender, sum) {
      if (taken !== undefined) return Promise.reject(new Error('The run is ending.'))
      const key = keyOf({ token, spender })
      const known = ensured.get(key) ?? grant({ token, spender }, sum)
      ensured.set(key, known)
      return known
    },
    left,
    spent,
    get isOpen() {
      return open.size > 0
    },
    takeBack() {
      taken ??= releaseAll()
      return taken
    },
  }
}

/** Approvals of an earlier run that may be in flight: they are made one after the other. */
const OPEN_MAX = 8

const keyOf = ({ token, spender }: OpenApproval) => `${token} ${spender}`.toLowerCase()
