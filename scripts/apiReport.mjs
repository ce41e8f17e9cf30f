// Compares the public surface in dist/ with the API report in the repository: node scripts/apiReport.mjs [--write].
//
// The report names each exported name of each entry with its signature, so that a change of the surface is visible in a
// review. It changes together with a changeset: see test/package/apiReport.test.ts.
import { mkdirSync } from 'node:fs'
import { Extractor, ExtractorConfig } from '@microsoft/api-extractor'

const ROOT = new URL('..', import.meta.url).pathname
const FOLDER = `${ROOT}docs/api`
const ENTRIES = [
  'index',
  'devnet/index',
  'ethers/index',
  'kms/index',
  'opentelemetry/index',
  'outbox/index',
  'postgres/index',
  'recorder/index',
  'signer/index',
  'sqlite/index',
  'store-contract/index',
]

const isWritten = process.argv.includes('--write')
mkdirSync(FOLDER, { recursive: true })
let changed = false
for (const entry of ENTRIES) {
  const name = entry === 'index' ? 'txlane' : `txlane-${entry.replace('/index', '')}`
  const config = ExtractorConfig.prepare({
    configObjectFullPath: `${ROOT}api-extractor.json`,
    packageJsonFullPath: `${ROOT}package.json`,
    configObject: {
      projectFolder: ROOT,
      mainEntryPointFilePath: `${ROOT}dist/${entry}.d.ts`,
      compiler: {
        overrideTsconfig: {
          compilerOptions: {
            target: 'ES2022',
            module: 'NodeNext',
            moduleResolution: 'NodeNext',
            lib: ['ES2023', 'ESNext.Disposable', 'DOM', 'DOM.Iterable'],
            strict: true,
            skipLibCheck: true,
            types: ['node'],
          },
          files: [`${ROOT}dist/${entry}.d.ts`],
        },
      },
      apiReport: {
        enabled: true,
        reportFileName: `${name}.api.md`,
        reportFolder: FOLDER,
        reportTempFolder: `${ROOT}node_modules/.cache/api-report`,
        includeForgottenExports: true,
      },
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      messages: {
        compilerMessageReporting: { default: { logLevel: 'none' } },
        extractorMessageReporting: { default: { logLevel: 'none' } },
        tsdocMessageReporting: { default: { logLevel: 'none' } },
      },
    },
  })
  const result = Extractor.invoke(config, {
    localBuild: isWritten,
    messageCallback: (message) => {
      message.handled = true
    },
  })
  if (!result.apiReportChanged) continue
  changed = true
  console.log(`${isWritten ? 'written' : 'changed'}: docs/api/${name}.api.md`)
}
if (changed && !isWritten) {
  console.error(
    'The public surface differs from its report. Run npm run api -- --write, and add a changeset.',
  )
  process.exitCode = 1
}
