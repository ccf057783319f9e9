<!DOCTYPE qgis PUBLIC 'http://mrcc.com/qgis.dtd' 'SYSTEM'>
<qgis styleCategories="Symbology" version="3.34.0">
  <renderer-v2 type="singleSymbol" symbollevels="0" enableorderby="0" forceraster="0" referencescale="-1">
    <symbols>
      <symbol type="line" name="0" alpha="1" clip_to_extent="1" force_rhr="0">
        <layer class="ArrowLine" enabled="1" locked="0" pass="0">
          <Option type="Map">
            <Option type="QString" name="is_curved" value="0"/>
            <Option type="QString" name="is_repeated" value="0"/>
            <Option type="QString" name="arrow_type" value="0"/>
            <Option type="QString" name="head_type" value="0"/>
            <Option type="QString" name="arrow_start_width" value="1"/>
            <Option type="QString" name="arrow_start_width_unit" value="MM"/>
            <Option type="QString" name="arrow_width" value="1"/>
            <Option type="QString" name="arrow_width_unit" value="MM"/>
            <Option type="QString" name="head_length" value="2.5"/>
            <Option type="QString" name="head_length_unit" value="MM"/>
            <Option type="QString" name="head_thickness" value="1.5"/>
            <Option type="QString" name="head_thickness_unit" value="MM"/>
          </Option>
          <data_defined_properties>
            <Option type="Map">
              <Option type="QString" name="name" value=""/>
              <Option type="Map" name="properties">
                <Option type="Map" name="arrowStartWidth">
                  <Option type="bool" name="active" value="true"/>
                  <Option type="QString" name="expression" value="0.32 * max(500 * &quot;offset_m&quot; / @map_scale, min(1.8, 0.45 * &quot;offset_m&quot;))"/>
                  <Option type="int" name="type" value="3"/>
                </Option>
                <Option type="Map" name="arrowWidth">
                  <Option type="bool" name="active" value="true"/>
                  <Option type="QString" name="expression" value="0.32 * max(500 * &quot;offset_m&quot; / @map_scale, min(1.8, 0.45 * &quot;offset_m&quot;))"/>
                  <Option type="int" name="type" value="3"/>
                </Option>
                <Option type="Map" name="arrowHeadLength">
                  <Option type="bool" name="active" value="true"/>
                  <Option type="QString" name="expression" value="max(500 * &quot;offset_m&quot; / @map_scale, min(1.8, 0.45 * &quot;offset_m&quot;))"/>
                  <Option type="int" name="type" value="3"/>
                </Option>
                <Option type="Map" name="arrowHeadThickness">
                  <Option type="bool" name="active" value="true"/>
                  <Option type="QString" name="expression" value="0.56 * max(500 * &quot;offset_m&quot; / @map_scale, min(1.8, 0.45 * &quot;offset_m&quot;))"/>
                  <Option type="int" name="type" value="3"/>
                </Option>
              </Option>
              <Option type="QString" name="type" value="collection"/>
            </Option>
          </data_defined_properties>
          <symbol type="fill" name="@0@0" alpha="1" clip_to_extent="1" force_rhr="0">
            <layer class="SimpleFill" enabled="1" locked="0" pass="0">
              <Option type="Map">
                <Option type="QString" name="color" value="230,0,170,255"/>
                <Option type="QString" name="style" value="solid"/>
                <Option type="QString" name="outline_color" value="255,255,255,255"/>
                <Option type="QString" name="outline_style" value="solid"/>
                <Option type="QString" name="outline_width" value="0.2"/>
                <Option type="QString" name="outline_width_unit" value="MM"/>
              </Option>
            </layer>
          </symbol>
        </layer>
      </symbol>
    </symbols>
  </renderer-v2>
</qgis>
