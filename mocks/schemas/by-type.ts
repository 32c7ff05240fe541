// Schema of an object with fields that depend on its `type`; types that are not listed are accepted.
// Independent of providers.
import { z } from 'zod'

/**
 * Validates an object by the schema for its `type`; other types are accepted. `unnamed` is the type of an
 * object without a `type`. A discriminated union would reject other types, and a plain union would not name
 * the invalid field.
 */
export const byType = (kinds: Readonly<Record<string, z.ZodObject>>, unnamed?: string) =>
  z
    .looseObject({ type: unnamed === undefined ? z.string() : z.string().nullish() })
    .superRefine((value, context) => {
      const type = value.type ?? unnamed ?? ''
      const kind = Object.hasOwn(kinds, type) ? kinds[type] : undefined
      for (const issue of kind?.safeParse(value, { reportInput: true }).error?.issues ?? [])
        context.addIssue({ ...issue } as z.core.$ZodSuperRefineIssue)
    })
