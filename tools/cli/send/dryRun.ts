import { json, wrapped } from '../shared/output.js'
import { EXIT, write } from '../shared/program.js'
import { doubtsOf, type Errand, rowsOf } from './errand.js'
import { estimatePacks, type PackEstimate } from './pack/estimate.js'
import { planMade, writePlan } from './pay/plan.js'
import { mainTotal, missingIn, type Preview, previewOf } from './screen/preview.js'
import { renderPreview } from './screen/previewText.js'

/** Shows the payments and the cost of a run, and writes its plan. */
export async function dryRun(errand: Errand): Promise<number> {
  const { options, connection, account, files, purse, at, payout } = errand
  const preview = await previewOf(connection.client, account.address, rowsOf(errand), await packsOf(errand))
  const made = await planMade(files)
  await writePlan(files, options.file, { ...purse, madeAt: at }, payout.rows)
  if (options.json) await write(json(jsonOf(errand, preview)))
  else {
    const other =
      made === undefined || made.plan === purse.plan
        ? []
        : [`The payments are not those of the dry run on ${made.madeAt}, whose plan was ${made.plan}.`]
    const end = `Nothing was sent. The plan is in ${files.plan}, and txlane send checks it.`
    await write(shownPreview(errand, preview))
    await write([...other, end].map((text) => `${wrapped(text)}\n`).join(''))
  }
  return missingIn(preview).length === 0 && preview.estimates.failed.length === 0 ? EXIT.held : EXIT.failed
}

/** The cost of packs; undefined without `--pack`. */
export async function packsOf(errand: Errand): Promise<PackEstimate | undefined> {
  const { connection, account, contract } = errand
  return contract && estimatePacks(connection.client, account.address, contract, rowsOf(errand))
}

/** The text of a preview for one of the two streams. */
export function shownPreview(
  errand: Errand,
  preview: Preview,
  stream: Parameters<typeof renderPreview>[1] = process.stdout,
): string {
  const { payout, purse, connection, standings } = errand
  const shown = { ...payout, doubts: doubtsOf(errand, preview.rows) }
  return renderPreview(
    { preview, payout: shown, from: purse.account, chain: connection, plan: purse.plan, standings },
    stream,
  )
}

function jsonOf(errand: Errand, preview: Preview): object {
  const { payout, purse, files, before, standings } = errand
  const { totals, fees, balances, estimates, packs } = preview
  const [native] = balances
  return {
    dryRun: true,
    plan: purse.plan,
    planFile: files.plan,
    lines: payout.rows.length,
    toSend: preview.rows.length,
    paidBefore: standings?.paid.length ?? 0,
    understood: payout.understood,
    // Amounts of several currencies have no sum.
    total: totals.length > 1 ? undefined : mainTotal(preview)?.amount,
    totals: totals.map(({ money, amount, lines }) => ({ ...money, amount, lines })),
    feesWei: fees.nowWei,
    feesCeilingWei: fees.ceilingWei,
    balanceWei: native?.before,
    balances: balances.map(({ money, before: balance, after }) => ({ ...money, before: balance, after })),
    missing: missingIn(preview).map(({ money, amount }) => ({ ...money, amount })),
    repeated: payout.doubts.filter(({ kind }) => kind === 'repeated').flatMap(({ lines }) => lines),
    doubts: payout.doubts,
    transactions: packs ? packs.packs + packs.approvals + packs.alone.length : preview.rows.length,
    gas: preview.gas,
    packs: packs && { ...packs, alone: packs.alone.map(({ line }) => line) },
    estimated: estimates.tried,
    gasUnknown: estimates.unknown,
    failing: estimates.failed,
    begunAt: before?.begunAt,
  }
}
