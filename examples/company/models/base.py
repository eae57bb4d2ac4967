"""Parts of several models: the base class, formats, money, addresses."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field


class Record(BaseModel):
    """An object with just the members named."""

    model_config = ConfigDict(extra="forbid", frozen=True)


Id = Annotated[int, Field(ge=1)]

Count = Annotated[int, Field(ge=0)]

# pydantic's own `EmailStr` and `HttpUrl` need another package, or rewrite the text.
Email = Annotated[str, Field(json_schema_extra={"format": "email"})]

Url = Annotated[str, Field(pattern=r"^https://", json_schema_extra={"format": "uri"})]

Phone = Annotated[str, Field(pattern=r"^\+1-[2-9][0-9]{2}-555-01[0-9]{2}$")]


class Money(Record):
    """An amount of money."""

    currency: Literal["EUR", "GBP", "USD"] = Field(description="ISO 4217 code.")
    cents: Count = Field(description="The amount in hundredths of the currency.")


class Geo(Record):
    """A point on the earth, in degrees (WGS 84)."""

    lat: float = Field(ge=-90, le=90, description="Degrees north.")
    lon: float = Field(ge=-180, le=180, description="Degrees east.")


class Address(Record):
    """A postal address."""

    street: str = Field(min_length=1, description="Number and street.")
    city: str = Field(min_length=1)
    zip: str = Field(pattern=r"^[0-9A-Z -]{4,10}$", description="Postal code in the form of the country.")
    country: str = Field(pattern=r"^[A-Z]{2}$", description="ISO 3166-1 alpha-2 code.")
    geo: Geo = Field(description="Where the address is.")
