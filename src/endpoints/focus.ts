// A call as a row of FOCUS 1.2, the FinOps Open Cost and Usage Specification. A column that the specification does not
// know begins with `x_`. Pure.
import { clientName } from '../core/call.ts'
import { roundUsd } from '../core/money.ts'
import { endOf, periodStart } from '../core/period.ts'
import type { CallRecord } from '../core/record.ts'
import { isEstimate, isMinimum } from '../terminal/numbers.ts'

type Cell = string | number | boolean

/** A call that has ended, whose cost is at least partly known. */
type Charge = CallRecord & { readonly completed_at: string; readonly cost_usd: number }

/** Returns true for a call with a row. FOCUS has no unknown costs, and replayed calls cost nothing. */
export const isCharge = (call: CallRecord): call is Charge =>
  call.completed_at !== null && call.cost_usd !== null && !call.replayed

/** Amount paid. A subscription covers the rest. */
const billed = ({ cost_usd, flat_usd }: Charge): number => roundUsd(Math.max(0, cost_usd - (flat_usd ?? 0)))

/** Quantity, as a decimal number, and its unit: tokens, or one request if the tokens are not known. */
function consumed({ tokens: { input, output } }: Charge): [quantity: string, unit: string] {
  if (input === null && output === null) return ['1.0', 'Requests']
  return [((input ?? 0) + (output ?? 0)).toFixed(1), 'Tokens']
}

/** Formats a time in whole seconds, as the specification wants it. */
const seconds = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`
const second = (iso: string): number => Math.floor(Date.parse(iso) / 1_000) * 1_000

/** Columns in alphabetical order, then our own; null is an empty cell. */
export const FOCUS_COLUMNS: Readonly<Record<string, (call: Charge) => Cell | null>> = {
  BilledCost: billed,
  BillingAccountId: ({ resolved_provider }) => resolved_provider,
  BillingAccountName: ({ resolved_provider }) => resolved_provider,
  BillingCurrency: () => 'USD',
  BillingPeriodEnd: ({ created_at }) => seconds(endOf('month', Date.parse(created_at))!),
  BillingPeriodStart: ({ created_at }) => seconds(periodStart('month', Date.parse(created_at))!),
  ChargeCategory: () => 'Usage',
  ChargeClass: () => null,
  ChargeDescription: ({ endpoint, resolved_provider, resolved_model }) =>
    `${endpoint} by ${resolved_provider}/${resolved_model}`,
  ChargeFrequency: () => 'Usage-Based',
  ChargePeriodEnd: ({ created_at, completed_at }) =>
    seconds(Math.max(second(created_at), second(completed_at)) + 1_000),
  ChargePeriodStart: ({ created_at }) => seconds(second(created_at)),
  CommitmentDiscountStatus: () => null, // rules about other columns read it
  ConsumedQuantity: (call) => consumed(call)[0],
  ConsumedUnit: (call) => consumed(call)[1],
  ContractedCost: ({ cost_usd }) => cost_usd,
  EffectiveCost: billed,
  InvoiceId: () => null,
  InvoiceIssuerName: ({ resolved_provider }) => resolved_provider,
  ListCost: ({ cost_usd }) => cost_usd,
  PricingQuantity: (call) => consumed(call)[0],
  PricingUnit: (call) => consumed(call)[1],
  ProviderName: ({ resolved_provider }) => resolved_provider,
  PublisherName: ({ resolved_provider }) => resolved_provider,
  ServiceCategory: () => 'AI and Machine Learning',
  ServiceName: ({ resolved_model, endpoint }) => resolved_model || endpoint,
  ServiceSubcategory: () => 'Generative AI',
  SubAccountId: ({ key_name }) => key_name,
  SubAccountName: ({ key_name }) => key_name,
  Tags: ({ route, session_id, client, purpose }) =>
    JSON.stringify(
      Object.fromEntries(
        Object.entries({ route, session: session_id, client: client && clientName(client), purpose })
          .filter(([, value]) => value !== null)
          .map(([name, value]) => [`waybill/${name}`, value]),
      ),
    ),
  x_CallId: ({ id }) => id,
  x_CostIsEstimate: isEstimate,
  x_CostIsMinimum: isMinimum,
  x_InputTokens: ({ tokens }) => tokens.input,
  x_OutputTokens: ({ tokens }) => tokens.output,
}
