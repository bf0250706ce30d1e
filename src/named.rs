//! Enums whose variants have names.

/// Defines an enum and `as_str`, which returns a variant's name. With `const ALL`, also defines the list of all
/// variants in their order.
macro_rules! named {
    (
        $(#[$meta:meta])* $vis:vis enum $enum:ident {
            $($(#[$variant_meta:meta])* $variant:ident = $name:literal,)+
        }
        $(#[$name_meta:meta])* $name_vis:vis fn $as_str:ident;
    ) => {
        $(#[$meta])* $vis enum $enum {
            $($(#[$variant_meta])* $variant,)+
        }

        impl $enum {
            $(#[$name_meta])*
            #[must_use]
            $name_vis fn $as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }
    };
    (
        $(#[$meta:meta])* $vis:vis enum $enum:ident {
            $($(#[$variant_meta:meta])* $variant:ident = $name:literal,)+
        }
        $(#[$name_meta:meta])* $name_vis:vis fn $as_str:ident;
        $(#[$all_meta:meta])* $all_vis:vis const ALL;
    ) => {
        $crate::named::named! {
            $(#[$meta])* $vis enum $enum {
                $($(#[$variant_meta])* $variant = $name,)+
            }
            $(#[$name_meta])* $name_vis fn $as_str;
        }

        impl $enum {
            $(#[$all_meta])*
            $all_vis const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];
        }
    };
}
pub(crate) use named;
